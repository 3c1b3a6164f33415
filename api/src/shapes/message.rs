//! Messages of a chat with the assistant, and what a search finds.

use std::collections::HashMap;

use assistant::{Reply, Source, SourceKind as Kind, ToolUse, Trouble};
use records::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use store::{ChatMessage, Found, FoundKind};

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
            "engine": "embedded/23", "error": null,
        })
    }
}

shape! {
    /// Why a turn failed.
    pub message_error(trouble: Trouble) -> MessageError {
        /// One of a closed list (docs/assistant.md).
        code: &'static str = trouble.as_str();
        /// A sentence for the user.
        detail: &'static str = trouble.detail();
        /// Whether the message stays so. `false` only with `interrupted`, and for ten minutes at most: a process that cannot be
        /// heard may still keep its reply, which then takes this error's place.
        #[serde(rename = "final")]
        is_final: bool = true;
    }
}

shape! {
    /// Something that a reply rests on.
    pub message_source(source: &Source) -> MessageSource {
        /// Its id.
        id: String = source.id.clone();
        /// What it is.
        #[schemars(with = "SourceKind")]
        kind: &'static str = source.kind.as_str();
        /// Its title, or its first words.
        title: String = source.title.replace('\0', "");
        /// When it began, or was made.
        created_at: Time = source.created_at.into();
    }
}

shape! {
    /// A tool that was called.
    pub message_tool(tool: &ToolUse) -> MessageTool {
        /// Its name.
        name: String = tool.name.clone();
        /// The app that it belongs to; null for those of the service.
        app_id: Option<String> = tool.app_id.clone();
        /// Whether it did what was asked.
        ok: bool = tool.ok;
        /// How long it took.
        millis: u32 = tool.millis;
    }
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
            .and_then(Trouble::from_name)
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

shape! {
    /// A thing that was found.
    pub search_result(found: &Found) -> SearchResult {
        /// Its id.
        id: String = found.id.clone();
        /// What it is.
        #[schemars(with = "SearchKind")]
        kind: &'static str = kind_of(found.kind).as_str();
        /// A conversation's title; empty for what has none.
        title: String = found.title.clone();
        /// The passage, word for word, or the thing's own words.
        text: String = found.text.clone();
        /// When it began, or was made.
        created_at: Time = found.at.into();
        /// Whether it holds all the words, and not only some.
        complete: bool = found.is_complete;
        /// Of an action item: whether it is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        completed: Option<bool> = is_item(found).then_some(found.completed);
        /// Of an action item: when it is due.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Time>", extend("x-also-null" = true))]
        due_at: Option<Option<Time>> = is_item(found).then(|| found.due_at.map(Time::from));
    }
}

impl Shape for SearchResult {
    fn example() -> Value {
        json!({
            "id": "0199bf00-1111-7a55-8f0e-1f2d3c4b5a69", "kind": "conversation", "title": "Budget review",
            "text": "Priya: The budget rises to 55,000.", "created_at": "2026-11-19T08:30:00Z", "complete": true,
        })
    }
}

/// What a thing is that was found.
pub(crate) fn kind_of(kind: FoundKind) -> Kind {
    match kind {
        FoundKind::Conversation => Kind::Conversation,
        FoundKind::Memory => Kind::Memory,
        FoundKind::ActionItem => Kind::ActionItem,
    }
}

fn is_item(found: &Found) -> bool {
    matches!(found.kind, FoundKind::ActionItem)
}
