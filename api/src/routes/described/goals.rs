//! Goals, and folders.

use records::GoalId;
use serde_json::json;

use super::{Note, examples};
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::goals,
};

const TAG: &str = "Goals";
const ALL: &str = "/v1/dev/user/goals";
const ONE: &str = "/v1/dev/user/goals/{goal_id}";

const PROGRESS: &[Note] = &[(
    "current_value",
    "Where it stands now, 0 or 1 of a `boolean`: in the query or in the body; the query goes first.",
    "",
)];

/// What is strived for, and the places for conversations.
pub(super) fn operations() -> Vec<Operation> {
    vec![list(), create(), one(), change(), progress(), history(), delete(), folders()]
}

fn list() -> Operation {
    let query = Described::new(
        Drawing::of(goals::read_filter),
        &[
            ("limit", "Maximum number of results.", "10"),
            ("offset", "Number of results to skip.", "0"),
            ("include_inactive", "With those that are not active any more.", "false"),
        ],
    );
    Operation::new("get", ALL, "list_goals", TAG, "List")
        .says("Active ones first, oldest first.")
        .needs(Scope::GoalsRead)
        .query(query)
        .answers(Answer::page("Goal", examples::goal()))
}

fn create() -> Operation {
    let fields = Described::new(
        Drawing::of(|fields| goals::read_new(fields, &GoalId::new(""))),
        &[
            ("title", "What it is.", ""),
            (
                "goal_type",
                "The kind of goal; the target and the value of a `boolean` are 0 or 1.",
                "\"scale\"",
            ),
            ("target_value", "The target; it may lie beyond the scale.", ""),
            ("current_value", "The current value; it may lie beyond the scale.", "0"),
            ("min_value", "The lower end of the scale, not above the upper one; 0 of a `boolean`.", "0"),
            (
                "max_value",
                "The upper end of the scale: 10 unless said otherwise. 1 of a `boolean`, for which a 10 is taken as 1.",
                "",
            ),
            ("unit", "The unit.", ""),
        ],
    );
    Operation::new("post", ALL, "create_goal", TAG, "Create")
        .says("Created, and active. At most three goals are active: a fourth one deactivates the oldest.")
        .needs(Scope::GoalsWrite)
        .creates()
        .body(
            "NewGoal",
            fields,
            json!({ "title": "Read a book a month", "target_value": 12, "goal_type": "numeric" }),
        )
        .answers(
            Answer::one("Goal", "The goal.", examples::goal())
                .leads_to("get_goal", "goal_id", "/id")
                .leads_to("update_goal", "goal_id", "/id")
                .leads_to("set_goal_progress", "goal_id", "/id")
                .leads_to("get_goal_history", "goal_id", "/id")
                .leads_to("delete_goal", "goal_id", "/id"),
        )
}

fn one() -> Operation {
    Operation::new("get", ONE, "get_goal", TAG, "Read one")
        .needs(Scope::GoalsRead)
        .conditional()
        .answers(Answer::one("Goal", "The goal.", examples::goal()))
        .not_found("Goal")
}

fn change() -> Operation {
    let fields = Described::new(
        Drawing::of(goals::read_change),
        &[
            ("title", "What it is.", ""),
            (
                "goal_type",
                "The kind of goal. A `boolean` needs a target and a value of 0 or 1, and gets the ends 0 and 1.",
                "",
            ),
            ("target_value", "The target; 0 or 1 of a `boolean`.", ""),
            ("min_value", "The lower end of the scale, not above the upper one; 0 of a `boolean`.", ""),
            ("max_value", "The upper end of the scale, not below the lower one; 1 of a `boolean`.", ""),
            ("unit", "The unit; null for none.", ""),
            ("is_active", "`true` deactivates the oldest of three others.", ""),
        ],
    );
    Operation::new("patch", ONE, "update_goal", TAG, "Change")
        .says("At least one field.")
        .needs(Scope::GoalsWrite)
        .body("GoalChange", fields, json!({ "target_value": 24 }))
        .answers(Answer::one("Goal", "As it is now.", examples::goal()))
        .not_found("Goal")
}

fn progress() -> Operation {
    let query = Described::new(Drawing::of(goals::read_progress), PROGRESS);
    let body = Described::new(Drawing::of(goals::read_progress), PROGRESS);
    Operation::new(
        "patch",
        "/v1/dev/user/goals/{goal_id}/progress",
        "set_goal_progress",
        TAG,
        "Set its progress",
    )
    .needs(Scope::GoalsWrite)
    .query(query)
    .optional_body("GoalProgress", body, json!({ "current_value": 3 }))
    .answers(Answer::one("Goal", "As it is now.", examples::goal()))
    .not_found("Goal")
}

fn history() -> Operation {
    let query = Described::new(Drawing::of(goals::read_days), &[("days", "Days of history.", "30")]);
    Operation::new("get", "/v1/dev/user/goals/{goal_id}/history", "get_goal_history", TAG, "Its history")
        .says("A value for each day on which it was set, newest first.")
        .needs(Scope::GoalsRead)
        .query(query)
        .answers(Answer::all(
            "GoalPoint",
            json!({ "date": "2026-11-21", "value": 3.0, "recorded_at": "2026-11-21T09:00:00Z" }),
        ))
        .not_found("Goal")
}

fn delete() -> Operation {
    Operation::new("delete", ONE, "delete_goal", TAG, "Delete")
        .says("For good, with its history.")
        .needs(Scope::GoalsWrite)
        .answers(Answer::gone())
        .not_found("Goal")
}

fn folders() -> Operation {
    Operation::new("get", "/v1/dev/user/folders", "list_folders", "Folders", "List")
        .says("In their order.")
        .needs(Scope::FoldersRead)
        .answers(Answer::all("Folder", examples::folder()))
}
