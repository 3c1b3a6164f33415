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
        "Success": object("Done.", json!({ "success": truth("Always true.") }), &[]),
    })
}

fn action_item() -> Value {
    object(
        "An action item.",
        json!({
            "id": text("Its id."),
            "description": text("What is to be done, 1–500 characters."),
            "completed": truth("Whether it is done."),
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
            "due_at": time_or_null("When it is due."),
            "completed_at": time_or_null("When it was done."),
            "conversation_id": text_or_null("The conversation it was extracted from; null if the user created it."),
        }),
        &[],
    )
}

fn memory() -> Value {
    object(
        "A fact about the user.",
        json!({
            "id": text("Its id."),
            "content": text("The fact, 1–500 characters."),
            "category": one_of("Its kind.", MemoryCategory::ALL.iter().map(|category| category.as_str())),
            "visibility": one_of("Who may see it.", ["public", "private"]),
            "tags": { "type": "array", "items": { "type": "string" }, "description": "Tags of the user's choice." },
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
            "manually_added": truth("Created by the user, not extracted."),
            "reviewed": truth("True if the user created it, false if it was extracted."),
            "user_review": {
                "type": ["boolean", "null"],
                "description": "True if the user created it, null if it was extracted.",
            },
            "edited": truth("Whether the user changed it."),
            "scoring": text_or_null("A rank among memories; always null so far."),
            "conversation_id": text_or_null("The conversation it was extracted from."),
        }),
        &[],
    )
}

fn folder() -> Value {
    object(
        "A folder for conversations.",
        json!({
            "id": text("Its id, for the filter `folder_id`."),
            "name": text("Its name, 1–100 characters."),
            "description": text_or_null("The rule, in words, by which conversations are filed here."),
            "color": text("Such as `#6B7280`."),
            "icon": text("A name or an emoji."),
            "order": { "type": "integer", "description": "Its place among folders." },
            "is_default": truth("Whether clients offer it first; always false so far."),
            "is_system": truth("It exists for every user."),
            "conversation_count": count("How many conversations are in it."),
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
        }),
        &[],
    )
}

fn made(name: &'static str, field: &'static str) -> Value {
    object(
        "Everything the batch created.",
        json!({ field: list_of(name), "created_count": count("How many.") }),
        &[],
    )
}
