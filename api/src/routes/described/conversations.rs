//! Reading, changing and deleting conversations.

use serde_json::json;

use super::{CURSOR, examples};
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::conversations,
};

const TAG: &str = "Conversations";
const ONE: &str = "/v1/dev/user/conversations/{conversation_id}";

const TRANSCRIPT: (&str, &str, &str) = ("include_transcript", "With `transcript_segments`.", "false");

const PHOTOS: (&str, &str, &str) = ("include_photos", "With `photos`.", "false");

/// What is done with conversations that exist.
pub(super) fn operations() -> Vec<Operation> {
    vec![list(), one(), change(), delete()]
}

fn list() -> Operation {
    let query = Described::new(
        Drawing::of(conversations::read_filter),
        &[
            ("limit", "Maximum number of results.", "25"),
            ("offset", "Number of results to skip.", "0"),
            ("start_date", "Created at or after this moment; of a date, its whole UTC day.", ""),
            ("end_date", "Created at or before this moment; of a date, its whole UTC day.", ""),
            TRANSCRIPT,
            ("categories", "Any of these categories, separated by commas.", ""),
            ("folder_id", "Filed in this folder.", ""),
            ("starred", "Only starred, or only other ones; all by default.", ""),
            (
                "status",
                "Conversations of this status: completed ones are those that are not discarded, `any` is every conversation.",
                "\"completed\"",
            ),
            CURSOR,
        ],
    );
    Operation::new("get", "/v1/dev/user/conversations", "list_conversations", TAG, "List")
        .says(
            "Newest first; completed and not discarded ones, unless `status` asks for others. After a restart, a client finds with \
             `status=processing` and `status=failed` what it has to wait for or finalize again.",
        )
        .needs(Scope::ConversationsRead)
        .query(query)
        .answers(Answer::page("Conversation", examples::conversation()))
}

fn one() -> Operation {
    Operation::new("get", ONE, "get_conversation", TAG, "Read one")
        .says("Conversations of every status, discarded ones too.")
        .needs(Scope::ConversationsRead)
        .conditional()
        .query(Described::new(Drawing::of(conversations::read_depth), &[TRANSCRIPT, PHOTOS]))
        .answers(Answer::one("Conversation", "The conversation.", examples::conversation()))
        .not_found("Conversation")
}

fn change() -> Operation {
    let fields = Described::new(
        Drawing::of(conversations::read_change),
        &[
            ("title", "A title set by the user; processing keeps it.", ""),
            ("discarded", "`true` hides it from the list.", ""),
            ("starred", "Marks it.", ""),
            ("folder_id", "Files it; null takes it out of its folder.", ""),
        ],
    );
    Operation::new("patch", ONE, "update_conversation", TAG, "Change")
        .says(
            "At least one field. What a person has set stays, also when the conversation is processed anew.",
        )
        .needs(Scope::ConversationsWrite)
        .body("ConversationChange", fields, json!({ "title": "Dentist", "starred": true }))
        .answers(Answer::one("Conversation", "As it is now.", examples::conversation()))
        .not_found("Conversation")
        .not_found("Folder")
}

fn delete() -> Operation {
    Operation::new("delete", ONE, "delete_conversation", TAG, "Delete")
        .says(
            "For good, with its segments, photos, the action items and memories heard in it, and webhooks that are not \
             delivered yet. A run in progress is withdrawn.",
        )
        .needs(Scope::ConversationsWrite)
        .answers(Answer::gone())
        .not_found("Conversation")
}
