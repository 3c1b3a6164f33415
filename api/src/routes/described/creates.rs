//! Creating conversations, and saying more in them.

use records::ConversationId;
use serde_json::json;

use super::{Note, examples};
use crate::{
    Scope, Settings,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::{create, segments},
};

const TAG: &str = "Conversations";
const WAIT: &str = "Answers when it is processed, or, when that takes longer than a while (25 seconds unless configured), \
    with the status `processing`; the work goes on, whatever becomes of the connection.";

const TEXT: &[Note] = &[
    (
        "text",
        "What was said or written. It is processed and not shown again. White space around it is dropped; more than that must be in it.",
        "",
    ),
    ("text_source", "What kind of text it is; passed on to the model.", "\"other_text\""),
    ("text_source_spec", "More about that: email, chat app, meeting notes.", ""),
    ("started_at", "When it began. Without it: now, or five minutes before `finished_at`.", ""),
    ("finished_at", "When it ended, not before it began. Without it: five minutes after it began.", ""),
    (
        "language",
        "A language code; without it that of the person's settings, which is `en` at first.",
        "\"en\"",
    ),
    ("geolocation", "Where it took place.", ""),
    ("geolocation.latitude", "Degrees.", ""),
    ("geolocation.longitude", "Degrees.", ""),
    ("geolocation.address", "The address in words.", ""),
    ("geolocation.google_place_id", "An id of that kind.", ""),
    ("geolocation.location_type", "Such as `premise`, `street_address` or `approximate`.", ""),
];

/// What must not be blank.
const SPOKEN: &[&str] = &["transcript_segments.text"];

const SEGMENTS: &[Note] = &[
    ("transcript_segments", "What was said, in order.", ""),
    ("transcript_segments.text", "The words; not blank.", ""),
    ("transcript_segments.start", "Seconds from the beginning.", ""),
    ("transcript_segments.end", "Seconds from the beginning, not before `start`.", ""),
    (
        "transcript_segments.speaker",
        "The speaker's label. Labels other than `SPEAKER_n` get a number by first appearance.",
        "\"SPEAKER_00\"",
    ),
    ("transcript_segments.speaker_id", "The speaker's number. Without it: the `n` of the label.", ""),
    ("transcript_segments.is_user", "The user speaks.", "false"),
    ("transcript_segments.person_id", "A person whom they know.", ""),
    (
        "transcript_segments.id",
        "An id of the client's own: a segment that is already stored under it is left as it is.",
        "",
    ),
];

const FROM_SEGMENTS: &[Note] = &[
    SEGMENTS[0],
    SEGMENTS[1],
    SEGMENTS[2],
    SEGMENTS[3],
    SEGMENTS[4],
    SEGMENTS[5],
    SEGMENTS[6],
    SEGMENTS[7],
    SEGMENTS[8],
    ("source", "Where it comes from.", "\"phone\""),
    ("started_at", "When it began. Without it: now, or `finished_at` less the length.", ""),
    ("finished_at", "When it ended. Without it: the largest `end` after it began.", ""),
    TEXT[5],
    TEXT[6],
    TEXT[7],
    TEXT[8],
    TEXT[9],
    TEXT[10],
    TEXT[11],
    (
        "client_session_id",
        "The client's own name for this conversation: a repeat names the same conversation and never processes it twice.",
        "",
    ),
    ("client_device_id", "The device, in the form `{platform}_{hash}`.", ""),
    ("client_platform", "Such as `ios`, `android` or `macos`.", ""),
    ("defer_processing", "Store it `in_progress`, to be appended to and finalized later.", "false"),
];

/// What makes conversations.
pub(super) fn operations(settings: &Settings) -> Vec<Operation> {
    let id = ConversationId::new("");
    vec![from_text(&id), from_segments(&id, settings), append()]
}

fn from_text(id: &ConversationId) -> Operation {
    let fields =
        Described::new(Drawing::of(|fields| create::read_text(fields, id)), TEXT).not_blank(&["text"]);
    let example = json!({
        "text": "I need to call the dentist by Friday. My sister lives in Porto.", "text_source": "message",
    });
    Operation::new("post", "/v1/dev/user/conversations", "create_conversation", TAG, "Create from text")
        .says(WAIT)
        .needs(Scope::ConversationsWrite)
        .creates()
        .takes_keys()
        .body("NewConversationFromText", fields, example)
        .answers(created())
}

fn from_segments(id: &ConversationId, settings: &Settings) -> Operation {
    let read = Drawing::of(|fields| create::read_segments(fields, id, settings));
    let example = json!({ "transcript_segments": examples::segments(), "client_session_id": "talk-1" });
    Operation::new(
        "post",
        "/v1/dev/user/conversations/from-segments",
        "create_conversation_from_segments",
        TAG,
        "Create from segments",
    )
    .says(WAIT)
    .needs(Scope::ConversationsWrite)
    .creates()
    .takes_keys()
    .body("NewConversationFromSegments", Described::new(read, FROM_SEGMENTS).not_blank(SPOKEN), example)
    .answers(created())
}

fn created() -> Answer {
    let pointer = "/id";
    Answer::one("Created", "Stored, and processed or being processed.", examples::created())
        .leads_to("get_conversation", "conversation_id", pointer)
        .leads_to("update_conversation", "conversation_id", pointer)
        .leads_to("append_segments", "conversation_id", pointer)
        .leads_to("finalize_conversation", "conversation_id", pointer)
        .leads_to("reprocess_conversation", "conversation_id", pointer)
        .leads_to("get_finalization", "conversation_id", pointer)
        .leads_to("delete_conversation", "conversation_id", pointer)
}

fn append() -> Operation {
    let example = json!({ "transcript_segments": examples::segments() });
    let appended = json!({ "id": examples::CONVERSATION, "status": "in_progress", "segment_count": 2 });
    Operation::new(
        "post",
        "/v1/dev/user/conversations/{conversation_id}/segments",
        "append_segments",
        TAG,
        "Append segments",
    )
    .says(
        "While a conversation is `in_progress` (created with `defer_processing`). It holds at most 10,000 segments and 4 MiB \
         of text. One that is not appended to for a day is finalized by itself.",
    )
    .needs(Scope::ConversationsWrite)
    .creates()
    .body("MoreSegments", Described::new(Drawing::of(segments::list), SEGMENTS).not_blank(SPOKEN), example)
    .answers(Answer::one("Appended", "Stored.", appended))
    .not_found("Conversation")
    .conflict("Conversation is no longer in progress")
}
