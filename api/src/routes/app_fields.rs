//! What owners say of their apps: the bodies of a create and of a change.

use secrecy::SecretString;
use store::{AppFields, AppVisibility};

use crate::{
    read::{Choice, Fields, Named, Note, Text},
    shapes::{Words, words},
};

/// What a PATCH may change.
const FIELDS: [&str; 11] = [
    "name",
    "description",
    "visibility",
    "home_url",
    "manifest_url",
    "webhook_url",
    "setup_url",
    "setup_completed_url",
    "summary_prompt",
    "mcp_url",
    "mcp_token",
];

const fn notes(visibility: &'static str) -> [Note; 11] {
    [
        ("name", "What it is called.", ""),
        ("description", "What it is for.", ""),
        (
            "visibility",
            "Who sees it and may install it: its owner alone, or every user of this instance.",
            visibility,
        ),
        (
            "home_url",
            "The address that paths of its manifest are relative to. An https URL of a public address.",
            "",
        ),
        (
            "manifest_url",
            "Where its manifest is, usually `/.well-known/service-tools.json`. It is fetched by every save.",
            "",
        ),
        ("webhook_url", "Where every processed conversation of its users is posted, with `?uid=`.", ""),
        ("setup_url", "Where a user connects to it; `?uid=` with the user's id is added.", ""),
        (
            "setup_completed_url",
            "Asked with `?uid=` before it is installed: it must answer `{\"is_setup_completed\": true}`.",
            "",
        ),
        ("summary_prompt", "The prompt of a summary that it writes of every conversation of its users.", ""),
        (
            "mcp_url",
            "An MCP server (streamable HTTP) whose tools it lends, beside those of its manifest. They are listed by every save.",
            "",
        ),
        (
            "mcp_token",
            "Sent to that server as bearer token. Never shown again; a change of `mcp_url` to another host or port needs it anew, or null.",
            "",
        ),
    ]
}

/// Words for the fields of a create.
pub(super) const NEW: &[Note] = &notes("\"private\"");
/// Words for the fields of a change.
pub(super) const CHANGE: &[Note] = &notes("");

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
    mcp_url: Option<Option<String>>,
    mcp_token: Option<Option<String>>,
}

impl Change {
    /// Puts it over the fields as they are, and answers what becomes of the token; `None`: it stays.
    pub(super) fn apply(self, fields: &mut AppFields) -> Option<Option<SecretString>> {
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
        put(&mut fields.mcp_url, self.mcp_url);
        self.mcp_token.map(|token| token.map(SecretString::from))
    }
}

/// The fields of a new app, and the token for its MCP server.
pub(super) fn read_new(
    fields: &mut Fields<'_>,
    may_call: impl Fn(&str) -> bool,
) -> Option<(AppFields, Option<SecretString>)> {
    let name = fields.required("name", name());
    let description = fields.optional("description", Text::between(0, 1_000));
    let visibility = fields.optional("visibility", visibility());
    let mut url = |name| {
        let url = fields.optional(name, Text::between(1, 2_048));
        refuse_bad_url(fields, name, url.as_deref(), &may_call);
        url
    };
    let (home_url, manifest_url, webhook_url) = (url("home_url"), url("manifest_url"), url("webhook_url"));
    let (setup_url, setup_completed_url) = (url("setup_url"), url("setup_completed_url"));
    let mcp_url = url("mcp_url");
    let mcp_token = fields.optional("mcp_token", Text::between(1, 2_048));
    refuse_bad_token(fields, mcp_token.as_deref());
    let summary_prompt = fields.optional("summary_prompt", Text::between(1, 4_000));
    refuse_blank(fields, "summary_prompt", summary_prompt.as_deref());
    let new = AppFields {
        name: name?,
        description: description.unwrap_or_default(),
        visibility: visibility.unwrap_or_default(),
        home_url,
        manifest_url,
        webhook_url,
        setup_url,
        setup_completed_url,
        summary_prompt,
        mcp_url,
    };
    Some((new, mcp_token.map(SecretString::from)))
}

pub(super) fn read_change(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<Change> {
    let name = fields.present("name", name());
    let description = fields.nullable("description", Text::between(0, 1_000)).map(Option::unwrap_or_default);
    let visibility = fields.present("visibility", visibility());
    let mut url = |name| {
        let url = fields.nullable(name, Text::between(1, 2_048));
        refuse_bad_url(fields, name, url.as_ref().and_then(Option::as_deref), &may_call);
        url
    };
    let (home_url, manifest_url, webhook_url) = (url("home_url"), url("manifest_url"), url("webhook_url"));
    let (setup_url, setup_completed_url) = (url("setup_url"), url("setup_completed_url"));
    let mcp_url = url("mcp_url");
    let mcp_token = fields.nullable("mcp_token", Text::between(1, 2_048));
    refuse_bad_token(fields, mcp_token.as_ref().and_then(Option::as_deref));
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
        mcp_url,
        mcp_token,
    })
}

/// Other users read it in their lists and notifications, and models in prompts.
fn name() -> Text {
    Text::name().not_blank("name must not be blank")
}

fn visibility() -> Named<Choice<&'static str, AppVisibility>> {
    words::AppVisibility::in_request(Choice::of(AppVisibility::ALL.iter().map(|one| (one.as_str(), *one))))
}

fn refuse_blank(fields: &mut Fields<'_>, name: &'static str, text: Option<&str>) {
    if text.is_some_and(|text| text.trim().is_empty()) {
        fields.refuse(name, &format!("{name} must not be blank"));
    }
}

/// It is sent in a header.
fn refuse_bad_token(fields: &mut Fields<'_>, token: Option<&str>) {
    if token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        fields.refuse("mcp_token", "mcp_token must be visible ASCII characters");
    }
}

fn refuse_bad_url(
    fields: &mut Fields<'_>,
    name: &'static str,
    url: Option<&str>,
    may_call: &impl Fn(&str) -> bool,
) {
    if url.is_some_and(|url| !may_call(url)) {
        let words = format!("{name} must be an https URL of a public address, without user and password");
        fields.refuse(name, &words);
    }
}
