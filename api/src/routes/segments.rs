//! Transcript segments as they are sent, and appending them.

use axum::Json;
use records::{ConversationId, Segment, Status, UserId};
use serde_json::{Value, json};
use store::AppendRefusal;

use super::{conversations::KIND, create, path::Ids};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    error::Code,
    keys::Caller,
    read::{Body, Bool, Fields, Float, Int, ListOf, Object, Problem, Text, object},
};

/// Later than any talk ends, also for clients that count from the unix epoch: times are added to moments, and
/// must stay moments.
const LATEST_SECOND: f64 = 1e10;

/// POST `…/{id}/segments`: more words for a conversation that is still in progress.
pub(super) async fn append(
    Creating(door): Creating,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let segments = object(body, list)?;
    let id = ConversationId::new(id);
    match door.ledger.store().append_segments(&caller.user, &id, &segments).await? {
        Ok(count) => Ok(Json(answer(&id, Status::InProgress, count))),
        Err(AppendRefusal::NoConversation) => Err(Error::NotFound(KIND)),
        Err(AppendRefusal::NotInProgress) => Err(Error::Conflict(Code::NotInProgress)),
        Err(AppendRefusal::TooLate) => {
            Err(Error::Invalid(vec![Problem::rule(vec!["body".into()], create::OUT_OF_CALENDAR)]))
        }
        Err(AppendRefusal::TooMuch) => Err(Error::Invalid(vec![Problem::rule(
            vec!["body".into(), "transcript_segments".into()],
            "a conversation holds at most 10,000 segments and 4 MiB of text",
        )])),
    }
}

/// The answer to an append, of a conversation as it is now.
pub(super) async fn present(door: &Door, user: &UserId, id: &ConversationId) -> Result<Value, Error> {
    let view = door.ledger.store().conversation(user, id, true).await?.ok_or(Error::NotFound(KIND))?;
    let count = view.segments.map_or(0, |segments| segments.len() as i64);
    Ok(answer(id, view.conversation.status, count))
}

fn answer(id: &ConversationId, status: Status, count: i64) -> Value {
    json!({ "id": id.as_str(), "status": status.as_str(), "segment_count": count })
}

/// Reads `transcript_segments`: 1–500. Speakers whose number was not sent have none yet.
pub(super) fn list(fields: &mut Fields<'_>) -> Option<Vec<Segment>> {
    fields.required("transcript_segments", ListOf { item: Object(segment), min: 1, max: 500 })
}

fn segment(fields: &mut Fields<'_>) -> Option<Segment> {
    let before = fields.report.len();
    let text = fields.required("text", Text::any());
    if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        let _: Option<()> = fields.report.at("text", |report| report.rule("text must not be blank"));
    }
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
