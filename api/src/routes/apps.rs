//! `/v1/apps`: apps of third parties, their manifests, and who installed them.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use store::{App, AppFields, AppFilter, AppVisibility, InstallRefusal, NewApp, Stored, TooManyApps};

use super::{
    answer,
    app_fields::{CHANGE, NEW, read_change, read_new},
    app_manifest::{Saved, fetch},
    links,
    path::Ids,
    tagged, webhooks,
};
use crate::{
    AppsMode, Error, Reply, Scope,
    caller::Caller,
    endpoint::{Answer, Endpoint, takes},
    error::{Code, Problem},
    read::{Body, Bool, Fields, Note, Page, Query, Text, object, page, query},
    shapes,
    state::{AppState, Refused, Wait},
};

pub(super) const KIND: &str = "App";

/// The error where a token would be sent to another server than it was given for.
const OTHER_SERVER: &str =
    "mcp_url names another server than the stored token is for: send mcp_token, too, or null for none";

const ALL: &str = "/v1/apps";
const ONE: &str = "/v1/apps/{app_id}";
/// Why the operator allows no such app.
const OFF: &str = "Apps are switched off on this instance";
const NOT_PUBLIC: &str = "Public apps are not allowed on this instance";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let which = || takes(read_app_id, &[("app_id", "Which app.", "")]);
    vec![
        Endpoint::post(ALL, Scope::AppsWrite, create)
            .named("create_app", "Create an app")
            .says(
                "The manifest is fetched and checked before anything is stored: everything that is wrong with it is answered \
                 at once, with 422 at `manifest_url`, or at `mcp_url` for the tools of its MCP server.",
            )
            .waits(Wait::AppServers)
            .creates(again)
            .body(
                "NewApp",
                takes(|body| read_new(body, |_| true), NEW),
                json!({
                    "name": "Tasks", "home_url": "https://tasks.example",
                    "manifest_url": "https://tasks.example/.well-known/service-tools.json",
                }),
            )
            .answers(
                Answer::one::<shapes::CreatedApp>("It can be installed from now on.")
                    .leads_to("get_app", "app_id", "/id")
                    .leads_to("update_app", "app_id", "/id")
                    .leads_to("create_app_key", "app_id", "/id")
                    .leads_to("delete_app", "app_id", "/id"),
            )
            .answers(not_allowed(NOT_PUBLIC))
            .conflict("There are 50 apps already"),
        Endpoint::get(ALL, Scope::AppsRead, list)
            .named("list_apps", "List apps")
            .says("The user's own apps and public ones, newest first.")
            .query(takes(read_filter, FILTER))
            .answers(Answer::page::<shapes::App>()),
        Endpoint::get("/v1/apps/enabled", Scope::AppsRead, enabled)
            .named("list_enabled_apps", "List installed apps")
            .says("The ids of the apps that the user installed and may use.")
            .answers(Answer::one::<shapes::AppIds>("Their ids.")),
        Endpoint::get(ONE, Scope::AppsRead, one)
            .named("get_app", "Read an app")
            .conditional()
            .answers(Answer::one::<shapes::App>("The app."))
            .not_found(KIND),
        Endpoint::patch(ONE, Scope::AppsWrite, change)
            .named("update_app", "Change an app")
            .waits(Wait::AppServers)
            .says("At least one field. Whatever it is, the manifest is fetched anew; where that fails, nothing changes.")
            .body(
                "AppChange",
                takes(|body| read_change(body, |_| true), CHANGE),
                json!({ "visibility": "public" }),
            )
            .answers(Answer::one::<shapes::App>("As it is now."))
            .answers(not_owner())
            .answers(not_allowed(NOT_PUBLIC))
            .not_found(KIND)
            .conflict("The app was changed by another request meanwhile"),
        Endpoint::delete(ONE, Scope::AppsWrite, delete)
            .named("delete_app", "Delete an app")
            .says("With its keys; users who installed it have it no more.")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .answers(not_owner())
            .not_found(KIND),
        Endpoint::post("/v1/apps/{app_id}/refresh-manifest", Scope::AppsWrite, refresh)
            .named("refresh_app_manifest", "Fetch the manifest of an app")
            .waits(Wait::AppServers)
            .says("Fetches the manifest and lists the tools of the MCP server anew, as every save does.")
            .can_refuse()
            .answers(Answer::one::<shapes::App>("As it is now."))
            .answers(not_owner())
            .answers(not_allowed(OFF))
            .not_found(KIND)
            .conflict("The app was changed by another request meanwhile"),
        Endpoint::post("/v1/apps/enable", Scope::AppsWrite, enable)
            .named("enable_app", "Install an app")
            .waits(Wait::AppServers)
            .says(
                "For the user who asks. `uses` and `sends_to` of the app say what it gets. Doing so again changes nothing.",
            )
            .query(which())
            .answers(Answer::one::<shapes::AppStatus>("Done."))
            .answers(not_allowed(OFF))
            .answers(Answer::refusal(400, "The user has not connected to the app.", "App setup is not completed"))
            .not_found(KIND)
            .conflict("There are 50 installed apps already")
            .conflict("The app is switched off"),
        Endpoint::post("/v1/apps/disable", Scope::AppsWrite, disable)
            .named("disable_app", "Uninstall an app")
            .says("With the webhook that its installation made. Doing so again changes nothing.")
            .query(which())
            .answers(Answer::one::<shapes::AppStatus>("Done.")),
    ]
}

/// 403 where the operator has switched apps off, or public ones.
fn not_allowed(detail: &str) -> Answer {
    let words = "Apps, or public ones, are switched off, or the key lacks the scope.";
    Answer::refusal_of(Code::AppsNotAllowed, words, detail)
}

/// 403 to everybody but its owner.
pub(super) fn not_owner() -> Answer {
    let words = "Another user's app, or a key that lacks the scope.";
    Answer::refusal(403, words, "Only its owner may do this with an app")
}

async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let found = state.ledger.store().app(&user, answer::only(&ids)?).await?;
    Ok(json!(shape(&state, &user, &found.ok_or(Error::NotFound(KIND))?)))
}

async fn list(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    let (page, filter) = query(&parameters, read_filter)?;
    let reserve = |bytes| caller.account.hold_for_list(bytes);
    let found = state.ledger.store().apps_within(&caller.user, &filter, reserve).await?;
    let apps = found.map_err(Refused::of_page)?;
    Ok(links::answer(&uri, page, &apps, |app| shape(&state, &caller.user, app)))
}

const FILTER: &[Note] = &[
    ("limit", "At most this many.", "50"),
    ("offset", "Skip this many.", "0"),
    ("installed", "Installed ones only, or the others only.", ""),
    ("mine", "The user's own only, or the others only.", ""),
];

fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, AppFilter)> {
    let page = page(fields, 50, 100);
    let installed = fields.present("installed", Bool);
    let mine = fields.present("mine", Bool);
    Some((page, AppFilter { installed, mine, limit: links::one_more(page), offset: page.offset }))
}

async fn enabled(State(state): State<AppState>, caller: Caller) -> Reply<shapes::AppIds> {
    if state.settings.apps == AppsMode::Off {
        return Ok(Json(shapes::AppIds(Vec::new())));
    }
    let installed = state.ledger.store().installed_app_names(&caller.user).await?;
    Ok(Json(shapes::AppIds(installed.into_iter().map(|(id, _)| id).collect())))
}

async fn one(
    State(state): State<AppState>,
    caller: Caller,
    Ids(id): Ids<String>,
    asked: HeaderMap,
) -> Result<Response, Error> {
    let app = state.ledger.store().app(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(tagged::answer(&asked, shape(&state, &caller.user, &app)))
}

/// POST: a new app. Its manifest is fetched and checked before anything is stored; `secret` is shown this once.
async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::CreatedApp> {
    let (fields, mcp_token) = object(body, |fields| read_new(fields, |url| (state.check_url)(url)))?;
    may_be_made(&state, fields.visibility)?;
    let manifest = fetch(&state, &caller, &fields, mcp_token.as_ref(), Saved::Body).await?;
    let secret = webhooks::new_secret(&state);
    let new = NewApp { id: state.ids.fresh().to_string(), fields, mcp_token, manifest, secret };
    let made = state.ledger.store().create_app(&caller.user, &new).await?;
    let made = made.map_err(|TooManyApps| Error::Refused(Code::TooManyApps))?;
    Ok(Json(shapes::created_app(shape(&state, &caller.user, &made), new.secret.expose_secret())))
}

async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Reply<shapes::App> {
    let change = object(body, |fields| read_change(fields, |url| (state.check_url)(url)))?;
    let app = owned(&state, &caller.user, &id).await?;
    let mut fields = app.fields.clone();
    let token = change.apply(&mut fields);
    may_be_made(&state, fields.visibility)?;
    save(&state, &caller, &app, (fields, token), Saved::Body).await
}

async fn refresh(State(state): State<AppState>, caller: Caller, Ids(id): Ids<String>) -> Reply<shapes::App> {
    let app = owned(&state, &caller.user, &id).await?;
    may_be_made(&state, AppVisibility::Private)?;
    let fields = app.fields.clone();
    save(&state, &caller, &app, (fields, None), Saved::Path).await
}

async fn delete(State(state): State<AppState>, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let app = owned(&state, &caller.user, &id).await?;
    let deleted = state.ledger.store().delete_app(&caller.user, &app.id).await?;
    follow(&state, &app.id).await;
    answer::deleted(deleted, KIND)
}

async fn enable(
    State(state): State<AppState>,
    caller: Caller,
    parameters: Query,
) -> Reply<shapes::AppStatus> {
    let id = query(&parameters, read_app_id)?;
    if state.settings.apps == AppsMode::Off {
        return Err(Error::AppsNotAllowed(OFF));
    }
    let app = state.ledger.store().app(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    // Offered while that was allowed. Who has it installed keeps it.
    if state.settings.apps == AppsMode::Private && app.owner != caller.user && !app.installed {
        return Err(Error::AppsNotAllowed(NOT_PUBLIC));
    }
    if let Some(url) = &app.fields.setup_completed_url
        && !state.settings.app_servers.is_set_up(&caller.user, url).await
    {
        return Err(Error::Refused(Code::SetupNotCompleted));
    }
    state.ledger.store().install_app(&caller.user, &id).await?.map_err(|refusal| match refusal {
        InstallRefusal::NoSuchApp => Error::NotFound(KIND),
        InstallRefusal::SwitchedOff => Error::Refused(Code::AppSwitchedOff),
        InstallRefusal::TooMany => Error::Refused(Code::TooManyInstalls),
    })?;
    Ok(Json(shapes::DONE))
}

async fn disable(
    State(state): State<AppState>,
    caller: Caller,
    parameters: Query,
) -> Reply<shapes::AppStatus> {
    let id = query(&parameters, read_app_id)?;
    state.ledger.store().uninstall_app(&caller.user, &id).await?;
    Ok(Json(shapes::DONE))
}

fn read_app_id(fields: &mut Fields<'_>) -> Option<String> {
    fields.required("app_id", Text::between(1, 128))
}

/// An app of the caller's own.
///
/// # Errors
/// 404 for one that the caller does not see, 403 for another user's public one.
pub(super) async fn owned(state: &AppState, user: &UserId, id: &str) -> Result<App, Error> {
    let app = state.ledger.store().app(user, id).await?.ok_or(Error::NotFound(KIND))?;
    if app.owner == *user { Ok(app) } else { Err(Error::Refused(Code::NotOwner)) }
}

fn shape(state: &AppState, user: &UserId, app: &App) -> shapes::App {
    shapes::app(app, user, state.settings.follows_prompts)
}

fn may_be_made(state: &AppState, visibility: AppVisibility) -> Result<(), Error> {
    match (state.settings.apps, visibility) {
        (AppsMode::Off, _) => Err(Error::AppsNotAllowed(OFF)),
        (AppsMode::Private, AppVisibility::Public) => Err(Error::AppsNotAllowed(NOT_PUBLIC)),
        _ => Ok(()),
    }
}

/// Fetches the manifest, then stores the app over the version that was read. `token` is what becomes of that for its MCP server;
/// `None`: it stays.
async fn save(
    state: &AppState,
    caller: &Caller,
    app: &App,
    (fields, token): (AppFields, Option<Option<SecretString>>),
    saved: Saved,
) -> Reply<shapes::App> {
    let user = &caller.user;
    let token = match token {
        _ if fields.mcp_url.is_none() => None,
        Some(token) => token,
        None => {
            let token = state.ledger.store().app_mcp_token(user, &app.id).await?;
            let origin = |fields: &AppFields| fields.mcp_url.as_deref().and_then(apps::origin);
            // A token that is never shown again must not be shown to another server, either.
            if token.is_some() && origin(&fields) != origin(&app.fields) {
                let place = ["body", "mcp_token"].map(Into::into).into();
                return Err(Error::Invalid(vec![Problem::rule(place, OTHER_SERVER)]));
            }
            token
        }
    };
    let manifest = fetch(state, caller, &fields, token.as_ref(), saved).await?;
    let (store, read) = (state.ledger.store(), (app.id.as_str(), app.version));
    match store.store_app(user, read, &fields, token.as_ref(), manifest.as_ref()).await? {
        Stored::Stored(stored) => {
            if stored.fields != app.fields {
                follow(state, &app.id).await;
            }
            Ok(Json(shape(state, user, &stored)))
        }
        Stored::Changed => Err(Error::Refused(Code::AppChanged)),
        Stored::Gone => Err(Error::NotFound(KIND)),
    }
}

/// The webhooks of those who installed the app follow it; where that fails the round does it.
async fn follow(state: &AppState, id: &str) {
    if let Err(error) = state.ledger.db().in_time(state.ledger.store().follow_apps(Some(id))).await {
        tracing::warn!(%error, "the webhooks of an app are left to the round");
    }
}
