//! Messages, and what a search finds.

use serde_json::{Value, json};

use super::{count, object, one_of, text, text_or_null, time, time_or_null, truth};

const KINDS: [&str; 3] = ["conversation", "memory", "action_item"];

/// The schemas of the assistant.
pub(super) fn schemas() -> Value {
    json!({ "Message": message(), "MessageSource": source(), "MessageTool": tool(), "SearchResult": found() })
}

fn message() -> Value {
    object(
        "A message of a chat.",
        json!({
            "id": text("Its id."),
            "created_at": time("When it was written; of a reply, when its turn began."),
            "sender": one_of("Who wrote it.", ["human", "ai", "app"]),
            "text": text("What it says."),
            "type": one_of("What kind of message it is.", ["text"]),
            "app_id": text_or_null("The app that wrote it, or in whose chat it stands."),
            "app_name": text_or_null("The name of that app, while it is installed."),
            "status": one_of(
                "How its turn stands: of messages of people and apps always completed. `stopped`: the process ended.",
                ["running", "completed", "failed", "stopped"],
            ),
            "sources": {
                "type": "array", "items": { "$ref": "#/components/schemas/MessageSource" },
                "description": "What the reply rests on.",
            },
            "tools": {
                "type": "array", "items": { "$ref": "#/components/schemas/MessageTool" },
                "description": "The tools that were called, in order. Their results are not kept.",
            },
            "engine": text_or_null("Which engine answered."),
            "error": {
                "oneOf": [
                    object(
                        "Why the turn failed.",
                        json!({
                            "code": text("One of a closed list (docs/assistant.md)."),
                            "detail": text("A sentence for the person."),
                        }),
                        &[],
                    ),
                    { "type": "null" },
                ],
            },
        }),
        &[],
    )
}

fn source() -> Value {
    object(
        "Something that a reply rests on.",
        json!({
            "id": text("Its id."),
            "kind": one_of("What it is.", ["conversation", "action_item", "memory", "goal"]),
            "title": text("Its title, or its first words."),
            "created_at": time("When it began, or was made."),
        }),
        &[],
    )
}

fn tool() -> Value {
    object(
        "A tool that was called.",
        json!({
            "name": text("Its name."),
            "app_id": text_or_null("The app that it belongs to; null for those of the service."),
            "ok": truth("Whether it did what was asked."),
            "millis": count("How long it took."),
        }),
        &[],
    )
}

fn found() -> Value {
    object(
        "A thing that was found.",
        json!({
            "id": text("Its id."),
            "kind": one_of("What it is.", KINDS),
            "title": text("A conversation's title; empty for what has none."),
            "text": text("The passage, word for word, or the thing's own words."),
            "created_at": time("When it began, or was made."),
            "complete": truth("Whether it holds all the words, and not only some."),
            "completed": truth("Of an action item: whether it is done."),
            "due_at": time_or_null("Of an action item: when it is due."),
        }),
        &["completed", "due_at"],
    )
}
