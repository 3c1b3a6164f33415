//! Memories.

use serde_json::json;

use super::{CURSOR, Note, examples};
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::memories,
};

const TAG: &str = "Memories";
const ALL: &str = "/v1/dev/user/memories";
const ONE: &str = "/v1/dev/user/memories/{memory_id}";

const CONTENT: &str = "The fact.";
const CATEGORY: &str = "Its kind; found by itself when it is left out.";
const TAGS: &str = "Tags of the user's choice.";

const NEW: &[Note] = &[
    ("content", CONTENT, ""),
    ("category", CATEGORY, ""),
    ("visibility", "Who may see it.", "\"private\""),
    ("tags", TAGS, "[]"),
];

/// What is known about the person.
pub(super) fn operations() -> Vec<Operation> {
    vec![list(), create(), create_batch(), change(), delete()]
}

fn list() -> Operation {
    let query = Described::new(
        Drawing::of(memories::read_filter),
        &[
            ("limit", "Maximum number of results.", "25"),
            ("offset", "Number of results to skip.", "0"),
            ("categories", "Any of these categories, separated by commas.", ""),
            CURSOR,
        ],
    );
    Operation::new("get", ALL, "list_memories", TAG, "List")
        .says("Newest first.")
        .needs(Scope::MemoriesRead)
        .query(query)
        .answers(Answer::page("Memory", examples::memory()))
}

fn create() -> Operation {
    Operation::new("post", ALL, "create_memory", TAG, "Create")
        .needs(Scope::MemoriesWrite)
        .creates()
        .body("NewMemory", Described::new(Drawing::of(memories::read_draft), NEW), examples::new_memory())
        .answers(
            Answer::one("Memory", "The memory.", examples::memory())
                .leads_to("update_memory", "memory_id", "/id")
                .leads_to("delete_memory", "memory_id", "/id"),
        )
}

fn create_batch() -> Operation {
    let fields = Described::new(
        Drawing::of(memories::read_batch),
        &[
            ("memories", "The memories.", ""),
            ("memories.content", CONTENT, ""),
            ("memories.category", CATEGORY, ""),
            ("memories.visibility", "Who may see it.", "\"private\""),
            ("memories.tags", TAGS, "[]"),
        ],
    );
    Operation::new("post", "/v1/dev/user/memories/batch", "create_memories", TAG, "Create several")
        .says("All or none.")
        .needs(Scope::MemoriesWrite)
        .creates()
        .body("NewMemories", fields, json!({ "memories": [examples::new_memory()] }))
        .answers(Answer::one(
            "MadeMemories",
            "All of them.",
            json!({ "memories": [examples::memory()], "created_count": 1 }),
        ))
}

fn change() -> Operation {
    let fields = Described::new(
        Drawing::of(memories::read_change),
        &[
            ("content", CONTENT, ""),
            ("category", "Its kind.", ""),
            ("visibility", "Who may see it.", ""),
            ("tags", TAGS, ""),
        ],
    );
    Operation::new("patch", ONE, "update_memory", TAG, "Change")
        .says("At least one field. There is no reading of a single memory: see the list.")
        .needs(Scope::MemoriesWrite)
        .body("MemoryChange", fields, json!({ "visibility": "public" }))
        .answers(Answer::one("Memory", "As it is now.", examples::memory()))
        .not_found("Memory")
}

fn delete() -> Operation {
    Operation::new("delete", ONE, "delete_memory", TAG, "Delete")
        .says("For good.")
        .needs(Scope::MemoriesWrite)
        .answers(Answer::gone())
        .not_found("Memory")
}
