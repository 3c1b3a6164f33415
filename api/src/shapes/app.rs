//! Apps and their keys.

use std::collections::BTreeSet;

use apps::{Manifest, Tool};
use records::UserId;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::{App as Record, AppKey as KeyRecord};

use super::{
    Time, conversation,
    words::{AppUse, AppVisibility, ChatTarget, ToolMethod},
};
use crate::shapes::Shape;

shape! {
    /// An app of a third party.
    pub seen(app: &Record, manifest: &Manifest, is_mine: bool, follows_prompts: bool) -> App {
        /// Its id.
        id: String = app.id.clone(), (conversation::ID);
        /// What it is called.
        name: String = app.fields.name.clone(), "Tasks";
        /// What it is for.
        description: String = app.fields.description.clone(), "Adds tasks to a list.";
        /// Who sees it and may install it.
        #[schemars(with = "AppVisibility")]
        visibility: &'static str = app.fields.visibility.as_str(), "private";
        /// Whether it is the user's own.
        mine: bool = is_mine, true;
        /// Whether the user has installed it.
        installed: bool = app.installed, false;
        /// What it gets or does once it is installed: `tool_calls` (what the assistant sends to its tools, with the user's id and location), `conversations` (every processed conversation), `summaries` (nothing leaves the service but to its model), `chat_messages` (it writes into the user's chat).
        #[schemars(with = "Vec<AppUse>")]
        uses: Vec<&'static str> = uses(app, manifest), ["tool_calls"];
        /// Scheme and host of every server to which the user's words go.
        #[schemars(with = "Vec<String>")]
        sends_to: BTreeSet<String> = hosts(app, manifest), ["https://tasks.example"];
        /// It writes summaries, which this service can do with a model alone, and it has none.
        needs_model: bool = app.fields.summary_prompt.is_some() && !follows_prompts, false;
        /// The address that paths of its manifest are relative to.
        home_url: Option<String> = app.fields.home_url.clone(), "https://tasks.example";
        /// Where its manifest is; shown to its owner.
        manifest_url: Option<String> = own(&app.fields.manifest_url, is_mine),
            "https://tasks.example/.well-known/service-tools.json";
        /// Where conversations are posted; shown to its owner.
        webhook_url: Option<String> = own(&app.fields.webhook_url, is_mine), null;
        /// Where a user connects to it.
        setup_url: Option<String> = app.fields.setup_url.clone(), null;
        /// The address that says whether a user has connected; shown to its owner.
        setup_completed_url: Option<String> = own(&app.fields.setup_completed_url, is_mine), null;
        /// The prompt of the summary that it writes of every conversation.
        summary_prompt: Option<String> = app.fields.summary_prompt.clone(), null;
        /// An MCP server whose tools it lends; shown to its owner.
        mcp_url: Option<String> = own(&app.fields.mcp_url, is_mine), null;
        /// What the assistant may call: the tools of its manifest, then those of its MCP server.
        tools: Vec<AppTool> = manifest.tools.iter().map(|one| tool(one, is_mine)).collect(), [{
                "name": "add_task", "description": "Adds a task. Use it when the user asks for one.", "method": "POST",
                "parameters": {
                    "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"],
                },
                "auth_required": true, "status_message": "Using add task…",
                "endpoint": "https://tasks.example/tools/add_task",
            }];
        /// Whether and how it writes to its users.
        chat_messages: AppChatMessages = chat_messages(manifest),
            { "enabled": false, "target": "app", "notify": false };
        /// When its manifest was fetched.
        manifest_fetched_at: Option<Time> = app.manifest_fetched_at.map(Time::from), "2026-11-24T09:00:00Z";
        /// Since when its server has not answered.
        failing_since: Option<Time> = app.failing_since.map(Time::from), null;
        /// Why an operator switched it off.
        switched_off_reason: Option<String> = app.switched_off_reason.clone(), null;
        /// When it was made.
        created_at: Time = app.created_at.into(), "2026-11-24T09:00:00Z";
        /// When it last changed.
        updated_at: Time = app.updated_at.into(), "2026-11-24T09:00:00Z";
    }
}

shown_once! {
    /// An app that was just made. A repeat under an `Idempotency-Key` does not show its secret again.
    created_app(App) -> CreatedApp {
        /// `whsec_…`: calls of its tools and its webhooks are signed with it. Shown this once.
        secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M="
    }
}

shape! {
    /// Whether and how an app writes to its users.
    chat_messages(manifest: &Manifest) -> AppChatMessages {
        /// Whether it may.
        enabled: bool = manifest.chat_messages.enabled;
        /// In which chat.
        #[schemars(with = "ChatTarget")]
        target: &'static str = manifest.chat_messages.target.as_str();
        /// Whether a push is sent, too.
        notify: bool = manifest.chat_messages.notify;
    }
}

shape! {
    /// A tool that the assistant may call.
    tool(tool: &Tool, is_mine: bool) -> AppTool {
        /// Its name.
        name: String = tool.name.clone();
        /// When and how to use it.
        description: String = tool.description.clone();
        /// How it is called.
        #[schemars(with = "ToolMethod")]
        method: &'static str = tool.method.as_str();
        /// What it takes, as a JSON Schema.
        #[schemars(with = "Map<String, Value>")]
        parameters: Value = tool.schema();
        /// Whether the app must know the user first.
        auth_required: bool = tool.auth_required;
        /// Shown while it runs.
        status_message: String = tool.status_message.clone();
        /// Where; shown to its owner.
        #[serde(skip_serializing_if = "Option::is_none")]
        endpoint: Option<String> = is_mine.then(|| tool.endpoint.as_str().to_owned());
    }
}

/// An app as `viewer` sees it. What its owner's addresses hold behind their host is shown to the owner alone.
pub fn app(app: &Record, viewer: &UserId, follows_prompts: bool) -> App {
    let manifest = app.manifest.as_deref().and_then(Manifest::from_text).unwrap_or_default();
    seen(app, &manifest, app.owner == *viewer, follows_prompts)
}

fn own(url: &Option<String>, is_mine: bool) -> Option<String> {
    url.clone().filter(|_| is_mine)
}

/// What an app gets, or does, once it is installed.
fn uses(app: &Record, manifest: &Manifest) -> Vec<&'static str> {
    [
        ("tool_calls", !manifest.tools.is_empty()),
        ("conversations", app.fields.webhook_url.is_some()),
        ("summaries", app.fields.summary_prompt.is_some()),
        ("chat_messages", manifest.chat_messages.enabled),
    ]
    .into_iter()
    .filter_map(|(name, is_used)| is_used.then_some(name))
    .collect()
}

/// Where its users' words go: scheme and host of every address that is called.
fn hosts(app: &Record, manifest: &Manifest) -> BTreeSet<String> {
    let endpoints = manifest.tools.iter().map(|tool| tool.endpoint.as_str());
    endpoints.chain(app.fields.webhook_url.as_deref()).filter_map(apps::origin).collect()
}

shape! {
    /// A key of an app; its text is not kept.
    pub app_key(key: &KeyRecord) -> AppKey {
        /// Its id.
        id: String = key.id.clone(), (super::conversation::ID);
        /// What its owner calls it.
        label: String = key.label.clone(), "production";
        /// A hint by which its owner knows it again.
        key_prefix: String = key.prefix.clone(), "lak_0000…zzzz";
        /// When it was made.
        created_at: Time = key.created_at.into(), "2026-11-24T09:00:00Z";
        /// When it was last used, to the minute.
        last_used_at: Option<Time> = key.last_used_at.map(Time::from), null;
        /// When it was revoked.
        revoked_at: Option<Time> = key.revoked_at.map(Time::from), null;
    }
}

shown_once! {
    /// A key that was just made. A repeat under an `Idempotency-Key` does not show its text again.
    created_app_key(AppKey) -> CreatedAppKey {
        /// `lak_…`: the key itself, shown this once.
        secret = "lak_00000000000000000000000000000000zzzzzz"
    }
}

/// Ids of apps.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppIds(pub(crate) Vec<String>);

impl Shape for AppIds {
    fn example() -> Value {
        json!([conversation::ID])
    }
}

/// Done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppStatus {
    /// Always `ok`.
    #[schemars(extend("const" = "ok"))]
    status: &'static str,
}

/// The answer where there is nothing to be shown.
pub(crate) const DONE: AppStatus = AppStatus { status: "ok" };

impl Shape for AppStatus {
    fn example() -> Value {
        json!(DONE)
    }
}

/// Done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NotificationStatus {
    /// Always `Ok`.
    #[schemars(extend("const" = "Ok"))]
    status: &'static str,
}

/// The answer to an app's message.
pub(crate) const SENT: NotificationStatus = NotificationStatus { status: "Ok" };

impl Shape for NotificationStatus {
    fn example() -> Value {
        json!(SENT)
    }
}
