//! Transcript segments as they are sent, and appending them.

use axum::Json;
use records::{ConversationId, Segment, Status, UserId};
use serde_json::{Value, json};
use store::AppendRefusal;

use super::{answer, conversations::KIND, path::Ids};
use crate::{
    Answer, AppState, Caller, Code, Endpoint, Error, Problem, Reply, Scope,
    read::{Body, Bool, Fields, Float, Int, ListOf, Named, Note, Object, Take, Text, object},
    shapes, takes,
};

/// Later than any conversation ends, also for clients that count from the unix epoch: times are added to moments, and
/// must stay moments.
const LATEST_SECOND: f64 = 1e10;

/// Why a time that follows from others is refused.
pub(super) const OUT_OF_CALENDAR: &str = "the conversation must lie within the years 1 to 9999";

const SAYS: &str = "While a conversation is `in_progress` (created with `defer_processing`). It holds at most 10,000 \
    segments and 4 MiB of text. One that is not appended to for a day is finalized by itself.";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post(
            "/v1/dev/user/conversations/{conversation_id}/segments",
            Scope::ConversationsWrite,
            append,
        )
        .named("append_segments", "Append segments to a conversation")
        .says(SAYS)
        .creates(again)
        .body(
            "NewSegments",
            takes(list, &[("transcript_segments", "What was said, in order.", "")]),
            json!({ "transcript_segments": example() }),
        )
        .answers(Answer::one::<shapes::AppendedSegments>("Stored."))
        .not_found(KIND)
        .conflict("Conversation is no longer in progress"),
    ]
}

/// An example of two segments, a question and its answer.
pub(super) fn example() -> Value {
    json!([
        { "text": "Can you send the report on Monday?", "speaker": "SPEAKER_01", "start": 0, "end": 4 },
        { "id": "s2", "text": "Yes, I will.", "is_user": true, "start": 4, "end": 6 },
    ])
}

/// The answer to a repeat: the conversation as it is now.
async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let id = ConversationId::new(answer::only(&ids)?);
    let store = state.ledger.store();
    let view = store.conversation(&user, &id, false).await?.ok_or(Error::NotFound(KIND))?;
    let count = store.segment_count(&user, &id).await?;
    Ok(json!(shapes::appended(&id, view.conversation.status, count)))
}

async fn append(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Reply<shapes::AppendedSegments> {
    let segments = object(body, list)?;
    let id = ConversationId::new(id);
    match state.ledger.store().append_segments(&caller.user, &id, &segments).await? {
        Ok(count) => Ok(Json(shapes::appended(&id, Status::InProgress, count))),
        Err(AppendRefusal::NoConversation) => Err(Error::NotFound(KIND)),
        Err(AppendRefusal::NotInProgress) => Err(Error::Refused(Code::NotInProgress)),
        Err(AppendRefusal::TooLate) => {
            Err(Error::Invalid(vec![Problem::rule(vec!["body".into()], OUT_OF_CALENDAR)]))
        }
        Err(AppendRefusal::TooMuch) => Err(Error::Invalid(vec![Problem::rule(
            vec!["body".into(), "transcript_segments".into()],
            "a conversation holds at most 10,000 segments and 4 MiB of text",
        )])),
    }
}

/// Reads `transcript_segments`: 1–500. Speakers whose number was not sent have none yet.
pub(super) fn list(fields: &mut Fields<'_>) -> Option<Vec<Segment>> {
    fields.required("transcript_segments", ListOf { item: new_segment(), min: 1, max: 500 })
}

const SEGMENT: &[Note] = &[
    ("text", "The words; not blank.", ""),
    ("start", "Seconds from the beginning.", ""),
    ("end", "Seconds from the beginning, not before `start`.", ""),
    (
        "speaker",
        "The speaker's label. Labels other than `SPEAKER_n` get a number by first appearance.",
        "\"SPEAKER_00\"",
    ),
    ("speaker_id", "The speaker's number. Without it: the `n` of the label.", ""),
    ("is_user", "The user speaks.", "false"),
    ("person_id", "One of the user's people.", ""),
    ("id", "An id of the client's own: a segment that is already stored under it is left as it is.", ""),
];

fn new_segment() -> Named<impl Take<Out = Segment>> {
    let words = "A segment of speech as it is sent.";
    Named { name: "NewSegment", words, notes: SEGMENT, take: Object(segment) }
}

fn segment(fields: &mut Fields<'_>) -> Option<Segment> {
    let before = fields.report.len();
    let text = fields.required("text", Text::any().not_blank("text must not be blank"));
    let start = fields.required("start", Float::between(0.0, LATEST_SECOND));
    let end = fields.required("end", Float::between(f64::MIN, LATEST_SECOND));
    let speaker = fields.optional("speaker", Text::label()).unwrap_or_else(|| "SPEAKER_00".to_owned());
    let speaker_id = fields.optional("speaker_id", Int::between(0, i64::from(i32::MAX)));
    let is_user = fields.present("is_user", Bool).unwrap_or(false);
    let person_id = fields.optional("person_id", Text::label());
    let id = fields.optional("id", Text::between(1, 128));
    let (text, start, end) = (text?, start?, end?);
    if end < start && fields.report.len() == before {
        return fields.report.rule("end must not be before start");
    }
    let speaker_id = speaker_id.and_then(|number| i32::try_from(number).ok());
    Some(Segment { id, text, speaker: Some(speaker), speaker_id, is_user, person_id, start, end })
}
