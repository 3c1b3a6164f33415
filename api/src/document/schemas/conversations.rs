//! Conversations.

use records::Category;
use serde_json::{Value, json};

use super::{
    count, list_of, number, object, one_of, reference, text, text_or_null, time, time_or_null, truth,
};

/// The schemas of `shapes/conversation.rs`, and of the answers to creates.
pub(super) fn schemas() -> Value {
    json!({
        "Conversation": conversation(),
        "Structured": structured(),
        "HeardItem": heard_item(),
        "Event": event(),
        "Segment": segment(),
        "Geolocation": geolocation(),
        "AppResult": app_result(),
        "Photo": photo(),
        "Created": created(),
        "Appended": appended(),
    })
}

const STATUSES: [&str; 4] = ["in_progress", "processing", "completed", "failed"];

fn conversation() -> Value {
    object(
        "A conversation as the developer interface shows it.",
        json!({
            "id": text("Its id, opaque."),
            "created_at": time("When the record was created."),
            "started_at": time("When the conversation started."),
            "finished_at": time("When it ended."),
            "language": text("A language code, such as `en`."),
            "source": text("Where it came from: one of the sources that a create takes."),
            "structured": reference("Structured"),
            "transcript_segments": {
                "type": "array", "items": reference("Segment"),
                "description": "Only with `include_transcript=true`; empty for one that was created from text.",
            },
            "photos": {
                "type": "array", "items": reference("Photo"), "description": "Only with `include_photos=true`.",
            },
            "folder_id": text("The folder it is filed in; absent when there is none."),
            "folder_name": text_or_null("That folder's name."),
            "geolocation": reference("Geolocation"),
            "apps_results": {
                "type": "array", "items": reference("AppResult"),
                "description": "Results of the user's apps (`apps` of `PATCH /v1/users/me`); absent without any.",
            },
            "status": one_of("The status.", STATUSES),
            "discarded": truth("Hidden from the list: judged not worth keeping, set by its owner, or failed."),
            "starred": truth("Marked by its owner."),
            "visibility": one_of("Who may see it; always `private` so far.", ["private", "shared", "public"]),
            "updated_at": time("When it last changed."),
        }),
        &["transcript_segments", "photos", "folder_id", "geolocation", "apps_results"],
    )
}

fn photo() -> Value {
    object(
        "A picture that a live session sent.",
        json!({
            "id": text("The id that the client gave it."),
            "base64": text("JPEG or PNG, base64."),
            "description": text("What is on it; absent until a model has said so."),
            "created_at": time("When it arrived."),
            "discarded": truth("Not worth keeping."),
        }),
        &["description"],
    )
}

fn structured() -> Value {
    object(
        "What was understood.",
        json!({
            "title": text("A title; empty until it is processed."),
            "overview": text("A summary."),
            "emoji": text("A fitting emoji."),
            "category": one_of("The category.", Category::ALL.iter().map(|category| category.as_str())),
            "action_items": list_of("HeardItem"),
            "events": list_of("Event"),
        }),
        &[],
    )
}

fn heard_item() -> Value {
    object(
        "An action item as a conversation shows it; items stand in the order in which they were said.",
        json!({
            "id": text("Its id, as `GET /v1/dev/user/action-items` gives it."),
            "description": text("The task."),
            "completed": truth("Whether it is done."),
            "created_at": time("When it was made."),
            "updated_at": time("When it last changed."),
            "due_at": time_or_null("When it is due."),
            "completed_at": time_or_null("When it was done."),
        }),
        &[],
    )
}

fn event() -> Value {
    object(
        "An event.",
        json!({
            "title": text("The title."),
            "description": text("A longer description; may be empty."),
            "start": time("When it begins."),
            "duration": count("Minutes."),
            "created": truth("Whether it is in a calendar; always false so far."),
        }),
        &[],
    )
}

fn segment() -> Value {
    object(
        "A segment of speech.",
        json!({
            "id": text("Its id, when it was sent with one."),
            "text": text("What was said."),
            "speaker_id": { "type": "integer", "description": "The speaker's number." },
            "speaker_name": text("The user's name, a known person's name, or `Speaker N`."),
            "start": number("Seconds from the beginning."),
            "end": number("Seconds from the beginning."),
        }),
        &["id", "speaker_id", "speaker_name"],
    )
}

fn geolocation() -> Value {
    object(
        "Where it took place.",
        json!({
            "latitude": number("Degrees, −90 to 90."),
            "longitude": number("Degrees, −180 to 180."),
            "address": text("The address in words."),
            "google_place_id": text("An id of that kind."),
            "location_type": text("Such as `premise` or `approximate`."),
        }),
        &["address", "google_place_id", "location_type"],
    )
}

fn app_result() -> Value {
    object(
        "What an app made of a conversation.",
        json!({
            "app_id": text_or_null("Which app: `minutes`, `decisions` or `questions`."),
            "content": text("Its text."),
        }),
        &[],
    )
}

fn created() -> Value {
    let statuses = STATUSES.into_iter().chain(["deleted"]);
    object(
        "The state of a created conversation.",
        json!({
            "id": text("The conversation's id."),
            "status": one_of("`processing` when it takes longer than the request waits; `deleted` for a repeat of one \
                that its owner deleted.", statuses),
            "discarded": truth("Whether it was judged not worth keeping."),
        }),
        &[],
    )
}

fn appended() -> Value {
    object(
        "The conversation's size after an append.",
        json!({
            "id": text("The conversation's id."),
            "status": one_of("`in_progress`; in the answer to a late repeat, the present status.", STATUSES),
            "segment_count": count("How many segments it holds now."),
        }),
        &[],
    )
}
