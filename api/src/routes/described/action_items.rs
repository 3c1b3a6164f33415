//! Action items.

use serde_json::json;

use super::{CURSOR, Note, examples};
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::action_items,
};

const TAG: &str = "Action items";
const ALL: &str = "/v1/dev/user/action-items";
const ONE: &str = "/v1/dev/user/action-items/{action_item_id}";

const DESCRIPTION: &str = "The task.";
const COMPLETED: &str = "Whether it is done.";
const DUE: &str =
    "When it is due, with a zone. A push notification goes out now, and again when the time has come.";

const NEW: &[Note] =
    &[("description", DESCRIPTION, ""), ("completed", COMPLETED, "false"), ("due_at", DUE, "")];

/// What is to be done.
pub(super) fn operations() -> Vec<Operation> {
    vec![list(), create(), create_batch(), change(), delete()]
}

fn list() -> Operation {
    let query = Described::new(
        Drawing::of(action_items::read_filter),
        &[
            ("limit", "Maximum number of results.", "100"),
            ("offset", "Number of results to skip.", "0"),
            ("completed", "Only completed, or only open ones; all by default.", ""),
            ("conversation_id", "Extracted from this conversation.", ""),
            ("start_date", "Created at or after this moment; of a date, its whole UTC day.", ""),
            ("end_date", "Created at or before this moment; of a date, its whole UTC day.", ""),
            CURSOR,
        ],
    );
    Operation::new("get", ALL, "list_action_items", TAG, "List")
        .says("Newest first.")
        .needs(Scope::ActionItemsRead)
        .query(query)
        .answers(Answer::page("ActionItem", examples::action_item()))
}

fn create() -> Operation {
    Operation::new("post", ALL, "create_action_item", TAG, "Create")
        .needs(Scope::ActionItemsWrite)
        .creates()
        .body(
            "NewActionItem",
            Described::new(Drawing::of(action_items::read_draft), NEW),
            examples::new_action_item(),
        )
        .answers(
            Answer::one("ActionItem", "The item.", examples::action_item())
                .leads_to("update_action_item", "action_item_id", "/id")
                .leads_to("delete_action_item", "action_item_id", "/id"),
        )
}

fn create_batch() -> Operation {
    let fields = Described::new(
        Drawing::of(action_items::read_batch),
        &[
            ("action_items", "The items.", ""),
            ("action_items.description", DESCRIPTION, ""),
            ("action_items.completed", COMPLETED, "false"),
            ("action_items.due_at", DUE, ""),
        ],
    );
    Operation::new("post", "/v1/dev/user/action-items/batch", "create_action_items", TAG, "Create several")
        .says("All or none.")
        .needs(Scope::ActionItemsWrite)
        .creates()
        .body("NewActionItems", fields, json!({ "action_items": [examples::new_action_item()] }))
        .answers(Answer::one(
            "MadeActionItems",
            "All of them.",
            json!({ "action_items": [examples::action_item()], "created_count": 1 }),
        ))
}

fn change() -> Operation {
    let fields = Described::new(
        Drawing::of(action_items::read_change),
        &[
            ("description", DESCRIPTION, ""),
            ("completed", "`true` sets `completed_at`, `false` clears it.", ""),
            ("due_at", "When it is due, with a zone; null clears it. A change is pushed.", ""),
        ],
    );
    Operation::new("patch", ONE, "update_action_item", TAG, "Change")
        .says("At least one field. There is no reading of a single item: see the list.")
        .needs(Scope::ActionItemsWrite)
        .body("ActionItemChange", fields, json!({ "completed": true }))
        .answers(Answer::one("ActionItem", "As it is now.", examples::action_item()))
        .not_found("Action item")
}

fn delete() -> Operation {
    Operation::new("delete", ONE, "delete_action_item", TAG, "Delete")
        .says("For good, with its reminder.")
        .needs(Scope::ActionItemsWrite)
        .answers(Answer::gone())
        .not_found("Action item")
}
