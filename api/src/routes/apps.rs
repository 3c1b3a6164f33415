//! `/v1/apps`: apps of third parties, their manifests, and who installed them.

use apps::Manifest;
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use store::{
    App, AppFields, AppFilter, AppVisibility, InstallRefusal, KeptManifest, NewApp, Stored, TooManyApps,
};

use super::{answer, links, path::Ids, tagged};
use crate::{
    AppsMode, Error, NoManifest, Scope,
    door::{Creating, Door},
    error::Code,
    keys::Caller,
    read::{Body, Bool, Choice, Fields, Page, Problem, Query, Text, object, page, query},
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "App";

/// What a PATCH may change.
const FIELDS: [&str; 9] = [
    "name",
    "description",
    "visibility",
    "home_url",
    "manifest_url",
    "webhook_url",
    "setup_url",
    "setup_completed_url",
    "summary_prompt",
];

/// GET: the user's own apps and public ones, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::AppsRead)?;
    let (page, filter) = query(&parameters, read_filter)?;
    let apps = door.ledger.store().apps(&caller.user, &filter).await?;
    Ok(links::answer(&uri, page, &apps, |app| shape(&door, &caller.user, app)))
}

/// Reads the query of the list.
pub(super) fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, AppFilter)> {
    let page = page(fields, 50, 100);
    let installed = fields.present("installed", Bool);
    let mine = fields.present("mine", Bool);
    Some((page, AppFilter { installed, mine, limit: links::one_more(page), offset: page.offset }))
}

/// GET `…/enabled`: the ids of the apps that the user installed and may use.
pub(super) async fn enabled(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsRead)?;
    let installed = door.ledger.store().installed_apps(&caller.user).await?;
    Ok(Json(installed.into_iter().map(|app| Value::from(app.id)).collect()))
}

/// GET one.
pub(super) async fn one(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    asked: HeaderMap,
) -> Result<Response, Error> {
    caller.require(Scope::AppsRead)?;
    let app = door.ledger.store().app(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(tagged::answer(&asked, shape(&door, &caller.user, &app)))
}

/// POST: a new app. Its manifest is fetched and checked before anything is stored; `secret` is shown this once.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let fields = object(body, |fields| read_new(fields, |url| (door.check_url)(url)))?;
    may_be_made(&door, fields.visibility)?;
    let manifest = fetch(&door, &caller.user, &fields, &["body", "manifest_url"]).await?;
    let secret = SecretString::from(format!("whsec_{}", STANDARD.encode(door.ids.secret())));
    let new = NewApp { id: door.ids.fresh().to_string(), fields, manifest, secret };
    let made = door.ledger.store().create_app(&caller.user, &new).await?;
    let made = made.map_err(|TooManyApps| Error::Conflict(Code::TooManyApps))?;
    Ok(Json(shapes::with(shape(&door, &caller.user, &made), "secret", new.secret.expose_secret())))
}

/// PATCH: at least one field. Whatever it changes, the manifest is fetched anew.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let change = object(body, |fields| read_change(fields, |url| (door.check_url)(url)))?;
    let app = owned(&door, &caller.user, &id).await?;
    let mut fields = app.fields.clone();
    change.apply(&mut fields);
    may_be_made(&door, fields.visibility)?;
    save(&door, &caller.user, &app, fields, &["body", "manifest_url"]).await
}

/// POST `…/refresh-manifest`: what saving without a change does.
pub(super) async fn refresh(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let app = owned(&door, &caller.user, &id).await?;
    let fields = app.fields.clone();
    save(&door, &caller.user, &app, fields, &["path", "app_id"]).await
}

/// DELETE: the app and its keys. It is no longer installed for any user.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let app = owned(&door, &caller.user, &id).await?;
    let deleted = door.ledger.store().delete_app(&caller.user, &app.id).await?;
    follow(&door, &app.id).await;
    answer::deleted(deleted, KIND)
}

/// POST `…/enable?app_id=`: installs an app for the caller.
pub(super) async fn enable(
    State(door): State<Door>,
    caller: Caller,
    parameters: Query,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let id = query(&parameters, read_app_id)?;
    if door.settings.apps == AppsMode::Off {
        return Err(Error::AppsNotAllowed("Apps are switched off on this instance"));
    }
    let app = door.ledger.store().app(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    if let Some(url) = &app.fields.setup_completed_url
        && !door.settings.app_servers.is_set_up(&caller.user, url).await
    {
        return Err(Error::SetupNotCompleted);
    }
    door.ledger.store().install_app(&caller.user, &id).await?.map_err(|refusal| match refusal {
        InstallRefusal::NoSuchApp => Error::NotFound(KIND),
        InstallRefusal::SwitchedOff => Error::Conflict(Code::AppSwitchedOff),
        InstallRefusal::TooMany => Error::Conflict(Code::TooManyInstalls),
    })?;
    Ok(Json(json!({ "status": "ok" })))
}

/// POST `…/disable?app_id=`: uninstalls it.
pub(super) async fn disable(
    State(door): State<Door>,
    caller: Caller,
    parameters: Query,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let id = query(&parameters, read_app_id)?;
    door.ledger.store().uninstall_app(&caller.user, &id).await?;
    Ok(Json(json!({ "status": "ok" })))
}

/// Reads which app.
pub(super) fn read_app_id(fields: &mut Fields<'_>) -> Option<String> {
    fields.required("app_id", Text::between(1, 128))
}

/// An app of the caller's own.
///
/// # Errors
/// 404 for one that the caller does not see, 403 for another user's public one.
pub(super) async fn owned(door: &Door, user: &UserId, id: &str) -> Result<App, Error> {
    let app = door.ledger.store().app(user, id).await?.ok_or(Error::NotFound(KIND))?;
    if app.owner == *user { Ok(app) } else { Err(Error::NotOwner) }
}

pub(super) fn shape(door: &Door, user: &UserId, app: &App) -> Value {
    shapes::app(app, user, door.settings.follows_prompts)
}

fn may_be_made(door: &Door, visibility: AppVisibility) -> Result<(), Error> {
    match (door.settings.apps, visibility) {
        (AppsMode::Off, _) => Err(Error::AppsNotAllowed("Apps are switched off on this instance")),
        (AppsMode::Private, AppVisibility::Public) => {
            Err(Error::AppsNotAllowed("Public apps are not allowed on this instance"))
        }
        _ => Ok(()),
    }
}

/// Fetches the manifest, then stores the app over the version that was read.
async fn save(
    door: &Door,
    user: &UserId,
    app: &App,
    fields: AppFields,
    place: &[&'static str; 2],
) -> Result<Json<Value>, Error> {
    let manifest = fetch(door, user, &fields, place).await?;
    let stored =
        door.ledger.store().store_app(user, &app.id, app.version, &fields, manifest.as_ref()).await?;
    match stored {
        Stored::Stored(stored) => {
            if stored.fields != app.fields {
                follow(door, &app.id).await;
            }
            Ok(Json(shape(door, user, &stored)))
        }
        Stored::Changed => Err(Error::Conflict(Code::AppChanged)),
        Stored::Gone => Err(Error::NotFound(KIND)),
    }
}

/// The webhooks of those who installed the app follow it; where that fails the round does it.
async fn follow(door: &Door, id: &str) {
    if let Err(error) = door.ledger.db().in_time(door.ledger.store().follow_apps(Some(id))).await {
        tracing::warn!(%error, "the webhooks of an app are left to the round");
    }
}

/// The checked manifest of an app with these fields; `None` where it names none. Nothing is held while its server is asked.
///
/// # Errors
/// 422 with everything that is wrong, at `place`.
async fn fetch(
    door: &Door,
    user: &UserId,
    fields: &AppFields,
    place: &[&'static str; 2],
) -> Result<Option<KeptManifest>, Error> {
    let Some(url) = &fields.manifest_url else { return Ok(None) };
    let loc = || place.iter().map(|step| (*step).into()).collect::<Vec<_>>();
    let body = door.settings.app_servers.manifest(user, url).await;
    let body = body.map_err(|why| Error::Invalid(vec![Problem::rule(loc(), &unread(why))]))?;
    let checked = apps::check(&body, fields.home_url.as_deref(), |url| (door.check_url)(url));
    match checked {
        Ok(manifest) => Ok(Some(kept(&manifest))),
        Err(problems) => {
            Err(Error::Invalid(problems.iter().map(|problem| Problem::rule(loc(), &problem.text)).collect()))
        }
    }
}

fn kept(manifest: &Manifest) -> KeptManifest {
    KeptManifest {
        text: manifest.to_text(),
        sha256: manifest.sha256(),
        chat_enabled: manifest.chat_messages.enabled,
        chat_target: manifest.chat_messages.target.as_str(),
        chat_notify: manifest.chat_messages.notify,
    }
}

fn unread(why: NoManifest) -> String {
    match why {
        NoManifest::Unreachable => "the manifest's server could not be reached".to_owned(),
        NoManifest::Timeout => "the manifest's server did not answer within 10 seconds".to_owned(),
        NoManifest::Redirect => {
            "the manifest's server answered with a redirect, which is not followed: enter the final URL"
                .to_owned()
        }
        NoManifest::Status(status) => format!("the manifest's server answered {status} instead of 200"),
        NoManifest::TooLong => "the manifest is longer than 256 KiB".to_owned(),
        NoManifest::Broken => "the manifest's answer broke off or is compressed".to_owned(),
    }
}

/// What a PATCH changes; `None` leaves it.
#[derive(Debug)]
pub(super) struct Change {
    name: Option<String>,
    description: Option<String>,
    visibility: Option<AppVisibility>,
    home_url: Option<Option<String>>,
    manifest_url: Option<Option<String>>,
    webhook_url: Option<Option<String>>,
    setup_url: Option<Option<String>>,
    setup_completed_url: Option<Option<String>>,
    summary_prompt: Option<Option<String>>,
}

impl Change {
    fn apply(self, fields: &mut AppFields) {
        fn put<T>(field: &mut T, change: Option<T>) {
            if let Some(value) = change {
                *field = value;
            }
        }
        put(&mut fields.name, self.name);
        put(&mut fields.description, self.description);
        put(&mut fields.visibility, self.visibility);
        put(&mut fields.home_url, self.home_url);
        put(&mut fields.manifest_url, self.manifest_url);
        put(&mut fields.webhook_url, self.webhook_url);
        put(&mut fields.setup_url, self.setup_url);
        put(&mut fields.setup_completed_url, self.setup_completed_url);
        put(&mut fields.summary_prompt, self.summary_prompt);
    }
}

/// Reads the body of a create.
pub(super) fn read_new(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<AppFields> {
    let name = fields.required("name", Text::between(1, 100));
    refuse_blank(fields, "name", name.as_deref());
    let description = fields.optional("description", Text::between(0, 1_000));
    let visibility = fields.optional("visibility", visibility());
    let mut url = |name| {
        let url = fields.optional(name, Text::between(1, 2_048));
        refuse_bad_url(fields, name, url.as_deref(), &may_call);
        url
    };
    let (home_url, manifest_url, webhook_url) = (url("home_url"), url("manifest_url"), url("webhook_url"));
    let (setup_url, setup_completed_url) = (url("setup_url"), url("setup_completed_url"));
    let summary_prompt = fields.optional("summary_prompt", Text::between(1, 4_000));
    refuse_blank(fields, "summary_prompt", summary_prompt.as_deref());
    Some(AppFields {
        name: name?,
        description: description.unwrap_or_default(),
        visibility: visibility.unwrap_or_default(),
        home_url,
        manifest_url,
        webhook_url,
        setup_url,
        setup_completed_url,
        summary_prompt,
    })
}

/// Reads the body of a PATCH.
pub(super) fn read_change(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<Change> {
    let name = fields.present("name", Text::between(1, 100));
    refuse_blank(fields, "name", name.as_deref());
    let description = fields.nullable("description", Text::between(0, 1_000)).map(Option::unwrap_or_default);
    let visibility = fields.present("visibility", visibility());
    let mut url = |name| {
        let url = fields.nullable(name, Text::between(1, 2_048));
        refuse_bad_url(fields, name, url.as_ref().and_then(Option::as_deref), &may_call);
        url
    };
    let (home_url, manifest_url, webhook_url) = (url("home_url"), url("manifest_url"), url("webhook_url"));
    let (setup_url, setup_completed_url) = (url("setup_url"), url("setup_completed_url"));
    let summary_prompt = fields.nullable("summary_prompt", Text::between(1, 4_000));
    refuse_blank(fields, "summary_prompt", summary_prompt.as_ref().and_then(Option::as_deref));
    fields.needs_any(&FIELDS)?;
    Some(Change {
        name,
        description,
        visibility,
        home_url,
        manifest_url,
        webhook_url,
        setup_url,
        setup_completed_url,
        summary_prompt,
    })
}

fn visibility() -> Choice<&'static str, AppVisibility> {
    Choice::of(AppVisibility::ALL.map(|one| (one.as_str(), one)))
}

fn refuse_blank(fields: &mut Fields<'_>, name: &'static str, text: Option<&str>) {
    if text.is_some_and(|text| text.trim().is_empty()) {
        let _: Option<()> =
            fields.report.at(name, |report| report.rule(&format!("{name} must not be blank")));
    }
}

fn refuse_bad_url(
    fields: &mut Fields<'_>,
    name: &'static str,
    url: Option<&str>,
    may_call: &impl Fn(&str) -> bool,
) {
    if url.is_some_and(|url| !may_call(url)) {
        let words = format!("{name} must be an https URL of a public address");
        let _: Option<()> = fields.report.at(name, |report| report.rule(&words));
    }
}
