//! Messages of a chat with the assistant, and what a search finds.

use std::collections::HashMap;

use assistant::{Reply, Source, ToolUse, Trouble};
use records::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use store::ChatMessage;

use super::{
    Time,
    words::{MessageSender, MessageStatus, MessageType, SearchKind, SourceKind},
};
use crate::shapes::Shape;

/// A message of a chat.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Message {
    /// Its id.
    id: String,
    /// When it was written; of a reply, when its turn began.
    created_at: Time,
    /// Who wrote it.
    #[schemars(with = "MessageSender")]
    sender: String,
    /// What it says.
    text: String,
    /// What kind of message it is.
    #[serde(rename = "type")]
    #[schemars(with = "MessageType")]
    kind: &'static str,
    /// The app that wrote it, or in whose chat it stands.
    app_id: Option<String>,
    /// The name of that app, while it is installed.
    app_name: Option<String>,
    /// How its turn stands.
    #[schemars(with = "MessageStatus")]
    status: String,
    /// What the reply rests on.
    #[schemars(with = "Vec<MessageSource>")]
    sources: Value,
    /// The tools that were called, in order. Their results are not kept.
    #[schemars(with = "Vec<MessageTool>")]
    tools: Value,
    /// Which engine answered.
    engine: Option<String>,
    /// Why the turn failed.
    error: Option<MessageError>,
}

impl Shape for Message {
    fn example() -> Value {
        json!({
            "id": "0199c0de-7d31-7a55-8f0e-1f2d3c4b5a69", "created_at": "2026-11-20T10:00:00.000001Z", "sender": "ai",
            "text": "This is what I found:\n- Budget review (yesterday): \"The budget rises to 55,000.\"\n",
            "type": "text", "app_id": null, "app_name": null, "status": "completed",
            "sources": [{
                "id": "0199bf00-1111-7a55-8f0e-1f2d3c4b5a69", "kind": "conversation", "title": "Budget review",
                "created_at": "2026-11-19T08:30:00Z",
            }],
            "tools": [{"name": "search", "app_id": null, "ok": true, "millis": 12}],
            "engine": "embedded/19", "error": null,
        })
    }
}

/// Why a turn failed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageError {
    /// One of a closed list (docs/assistant.md).
    code: &'static str,
    /// A sentence for the person.
    detail: &'static str,
    /// Whether the message stays so. `false` only with `interrupted`, and for ten minutes at most: a process that cannot be
    /// heard may still keep its reply, which then takes this error's place.
    #[serde(rename = "final")]
    is_final: bool,
}

/// Something that a reply rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageSource {
    /// Its id.
    id: String,
    /// What it is.
    #[schemars(with = "SourceKind")]
    kind: &'static str,
    /// Its title, or its first words.
    title: String,
    /// When it began, or was made.
    created_at: Time,
}

/// A tool that was called.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageTool {
    /// Its name.
    name: String,
    /// The app that it belongs to; null for those of the service.
    app_id: Option<String>,
    /// Whether it did what was asked.
    ok: bool,
    /// How long it took.
    millis: u32,
}

/// A message as it is kept; `names` are those of the user's apps.
pub(crate) fn message(message: &ChatMessage, names: &HashMap<String, String>) -> Message {
    let list = |list: &Option<Value>| list.clone().unwrap_or_else(|| json!([]));
    Message {
        id: message.message_id.clone(),
        created_at: message.created_at.into(),
        sender: message.sender.clone(),
        text: message.text.clone(),
        kind: "text",
        app_id: message.app_id.clone(),
        app_name: message.app_id.as_ref().and_then(|app| names.get(app)).cloned(),
        status: message.status.as_deref().unwrap_or("completed").to_owned(),
        sources: list(&message.sources),
        tools: list(&message.tools),
        engine: message.engine.clone().filter(|engine| !engine.is_empty()),
        error: message
            .trouble
            .as_deref()
            .and_then(Trouble::from_code)
            .map(|trouble| MessageError { is_final: message.is_settled, ..message_error(trouble) }),
    }
}

/// A reply that has just ended.
pub(crate) fn ended(
    id: &str,
    created_at: Timestamp,
    (app_id, app_name): (Option<String>, Option<String>),
    ended: &Reply,
) -> Message {
    Message {
        id: id.to_owned(),
        created_at: created_at.into(),
        sender: "ai".to_owned(),
        text: ended.text.clone(),
        kind: "text",
        app_id,
        app_name,
        status: ended.status.as_str().to_owned(),
        sources: json!(ended.sources.iter().map(message_source).collect::<Vec<_>>()),
        tools: json!(ended.tools.iter().map(message_tool).collect::<Vec<_>>()),
        engine: Some(ended.engine.clone()),
        error: ended.trouble.map(message_error),
    }
}

/// Why a turn has failed, as it is shown.
pub(crate) fn message_error(trouble: Trouble) -> MessageError {
    MessageError { code: trouble.code(), detail: trouble.detail(), is_final: true }
}

/// A source as it is kept and shown.
pub(crate) fn message_source(source: &Source) -> MessageSource {
    MessageSource {
        id: source.id.clone(),
        kind: source.kind.as_str(),
        title: source.title.replace('\0', ""),
        created_at: source.created_at.into(),
    }
}

/// A tool's use as it is kept and shown.
pub(crate) fn message_tool(tool: &ToolUse) -> MessageTool {
    MessageTool { name: tool.name.clone(), app_id: tool.app_id.clone(), ok: tool.ok, millis: tool.millis }
}

/// A thing that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResult {
    /// Its id.
    pub(crate) id: String,
    /// What it is.
    #[schemars(with = "SearchKind")]
    pub(crate) kind: &'static str,
    /// A conversation's title; empty for what has none.
    pub(crate) title: String,
    /// The passage, word for word, or the thing's own words.
    pub(crate) text: String,
    /// When it began, or was made.
    pub(crate) created_at: Time,
    /// Whether it holds all the words, and not only some.
    pub(crate) complete: bool,
    /// Of an action item: whether it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completed: Option<bool>,
    /// Of an action item: when it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>", extend("x-also-null" = true))]
    pub(crate) due_at: Option<Option<Time>>,
}

impl Shape for SearchResult {
    fn example() -> Value {
        json!({
            "id": "0199bf00-1111-7a55-8f0e-1f2d3c4b5a69", "kind": "conversation", "title": "Budget review",
            "text": "Priya: The budget rises to 55,000.", "created_at": "2026-11-19T08:30:00Z", "complete": true,
        })
    }
}
