//! Action items, memories and folders.

use records::MemoryCategory;
use serde_json::{Value, json};

use super::{count, list_of, object, one_of, text, text_or_null, time, time_or_null, truth};

/// The schemas of what is made of conversations.
pub(super) fn schemas() -> Value {
    json!({
        "ActionItem": action_item(),
        "Memory": memory(),
        "Folder": folder(),
        "MadeActionItems": made("ActionItem", "action_items"),
        "MadeMemories": made("Memory", "memories"),
        "Success": object("It is done.", json!({ "success": truth("Always true.") }), &[]),
    })
}

fn action_item() -> Value {
    object(
        "Something to be done.",
        json!({
            "id": text("Its id."),
            "description": text("What is to be done, 1–500 characters."),
            "completed": truth("Whether it is done."),
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
            "due_at": time_or_null("When it is due."),
            "completed_at": time_or_null("When it was done."),
            "conversation_id": text_or_null("The conversation it was heard in; null for one that a person made."),
        }),
        &[],
    )
}

fn memory() -> Value {
    object(
        "A fact about the person.",
        json!({
            "id": text("Its id."),
            "content": text("The fact, 1–500 characters."),
            "category": one_of("Its kind.", MemoryCategory::ALL.iter().map(|category| category.as_str())),
            "visibility": one_of("Who may see it.", ["public", "private"]),
            "tags": { "type": "array", "items": { "type": "string" }, "description": "Words of the person's own." },
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
            "manually_added": truth("Written by the person, and not heard."),
            "reviewed": truth("True for one that the person wrote, false for one that was heard."),
            "user_review": {
                "type": ["boolean", "null"],
                "description": "True for one that the person wrote, null for one that was heard.",
            },
            "edited": truth("Whether the person changed it."),
            "scoring": text_or_null("A rank among memories; always null so far."),
            "conversation_id": text_or_null("The conversation it was heard in."),
        }),
        &[],
    )
}

fn folder() -> Value {
    object(
        "A place for conversations.",
        json!({
            "id": text("Its id, for the filter `folder_id`."),
            "name": text("Its name, 1–100 characters."),
            "description": text_or_null("What belongs into it, in words: the rule of automatic filing."),
            "color": text("Such as `#6B7280`."),
            "icon": text("A name or an emoji."),
            "order": { "type": "integer", "description": "Its place among folders." },
            "is_default": truth("Whether clients offer it first; always false so far."),
            "is_system": truth("It came with the account."),
            "conversation_count": count("How many conversations are in it."),
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
        }),
        &[],
    )
}

fn made(name: &'static str, field: &'static str) -> Value {
    object(
        "What a batch made: all of it.",
        json!({ field: list_of(name), "created_count": count("How many.") }),
        &[],
    )
}
