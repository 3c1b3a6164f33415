//! Finalization: admitting a persisted conversation into the outbox, and polling its job.

use axum::{
    Json,
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use job::WorkerId;
use ledger::{AdmitRefusal, FinalizeOutcome, Ledger, Poll, WithKeys};
use records::{ConversationId, UserId};
use secrecy::SecretString;
use serde_json::{Value, json};
use store::ConversationView;

use super::{
    answer, byok,
    conversations::{KIND, find_whole},
    path::Ids,
    tagged,
};
use crate::{
    Answer, Answered, AppState, Caller, Code, Endpoint, Error, Problem, Scope,
    keyed::admitted,
    read::{Body, Fields, Int, ListOf, Moment, Named, Note, Object, Take, Text, optional_object},
    shapes,
    state::Account,
    takes,
};

/// Seconds between two polls of a job that runs or will soon.
const POLL_SECONDS: u64 = 2;
/// Seconds between two polls of a job that waits for a later moment, or for keys.
const SLOW_POLL_SECONDS: u64 = 5;

/// A meeting's agenda: as long as a text of which a conversation is made.
const NOTES: Text = Text::between(0, 100_000);
/// Where a meeting is joined: as long as an address that is called.
const LINK: Text = Text::between(0, 2_048);

pub(super) fn endpoints() -> Vec<Endpoint> {
    let unavailable = "Durable dispatch is not configured (without `Retry-After`: repeating does not help), or the service is \
        unavailable for the moment. Nothing was changed.";
    vec![
        Endpoint::post("/v1/conversations/{conversation_id}/finalize", Scope::ConversationsWrite, admit)
            .named("finalize_conversation", "Finalize a conversation")
            .says(
                "Admits a stored conversation into the outbox and answers as soon as that is committed. It is processed durably, \
                 without being judged worth keeping first. A repeat changes nothing; one that failed is admitted anew.",
            )
            .shown_anew(shown_again)
            .says_unavailable("Conversation finalization is temporarily unavailable")
            .resumes(byok::resume)
            .takes_model_key()
            .optional_body(
                "Finalize",
                takes(read_context, CONTEXT),
                json!({ "calendar_meeting_context": { "title": "Stand-up" } }),
            )
            .answers(
                Answer::one::<shapes::FinalizingConversation<'_>>("It is admitted, or was before.")
                    .with_header("Location")
                    .leads_to("get_finalization", "conversation_id", "/conversation/id"),
            )
            .not_found(KIND)
            .answers(
                Answer::refusal(503, unavailable, Code::FinalizationUnavailable.detail())
                    .with_header("Retry-After"),
            ),
        Endpoint::get("/v1/conversations/{conversation_id}/finalization", Scope::ConversationsRead, poll)
            .named("get_finalization", "Poll a finalization")
            .says("The job of the newest revision. `Retry-After` says when to ask again, until it is terminal.")
            .conditional()
            .answers(
                Answer::one::<shapes::FinalizationJob>("The state of the job.").with_header("Retry-After"),
            )
            .not_found("Conversation finalization job"),
    ]
}

pub(super) async fn admit(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    if !state.settings.finalize_enabled {
        return Err(Error::Refused(Code::FinalizationUnavailable));
    }
    let key = byok::key_of(&headers)?;
    let context = optional_object(body, read_context)?.flatten();
    finalize(&state, &caller, &ConversationId::new(id), context, key).await
}

/// Finalizes, with the user's own key if there is one, and answers: the conversation as it stands now, and where to
/// ask for its job.
pub(super) async fn finalize(
    state: &AppState,
    caller: &Caller,
    id: &ConversationId,
    context: Option<Value>,
    key: Option<SecretString>,
) -> Answered {
    let user = &caller.user;
    caller.account.has_room()?;
    let finalized = match key {
        None => {
            let finalized = state.ledger.finalize(user, id, context, None).await?;
            finalized.map(|FinalizeOutcome { fresh, view, .. }| (fresh, view))
        }
        Some(key) => finalize_with(key, state, user, id, context).await?.map(|fresh| (fresh, None)),
    };
    match finalized {
        Ok((fresh, view)) => {
            state.metrics.admissions.with_label_values(&["finalize"]).inc_by(u64::from(fresh));
            state.settings.live.live.admitted(user, id);
            let view = match view {
                Some(view) => *view,
                None => find_whole(state, caller, id).await?,
            };
            show(&caller.account, &view)
        }
        Err(AdmitRefusal::NoConversation) => Err(Error::NotFound(KIND)),
        Err(AdmitRefusal::NoContent) => Err(no_content()),
        Err(AdmitRefusal::OverBudget(over)) => Err(db::Error::from(over).into()),
    }
}

/// 422: there is nothing to be processed.
pub(super) fn no_content() -> Error {
    Error::Invalid(vec![Problem::rule(
        vec!["path".into(), "conversation_id".into()],
        "the conversation has no content",
    )])
}

/// Admits with the user's own keys, or resumes the parked job that is there; whether a job was made.
async fn finalize_with(
    key: SecretString,
    state: &AppState,
    user: &UserId,
    id: &ConversationId,
    context: Option<Value>,
) -> Result<Result<bool, AdmitRefusal>, Error> {
    let (user, id) = (user.clone(), id.clone());
    admitted(
        byok::permit(state, &user)?,
        &state.ledger,
        key,
        async move |ledger: Ledger, claimant: Option<WorkerId>| {
            let keys = WithKeys { claimant: claimant.as_ref() };
            Ok(match ledger.finalize(&user, &id, context, Some(keys)).await? {
                Ok(FinalizeOutcome { job, fresh, claimed, .. }) => (Ok(fresh), job, claimed),
                Err(refusal) => (Err(refusal), None, None),
            })
        },
    )
    .await
}

/// The answer to a repeat: the conversation as it is now.
pub(super) fn shown_again<'a>(
    state: &'a AppState,
    caller: &'a Caller,
    ids: &'a [String],
) -> BoxFuture<'a, Answered> {
    Box::pin(async move {
        let id = ConversationId::new(answer::only(ids)?);
        show(&caller.account, &find_whole(state, caller, &id).await?)
    })
}

pub(super) fn show(account: &Account, view: &ConversationView) -> Answered {
    let body = account.json(&shapes::FinalizingConversation {
        conversation: shapes::conversation(view, true),
        messages: [],
    })?;
    Ok(where_to_poll(body, &view.conversation.id))
}

/// An answer in JSON whose `Location` is where the newest job of a conversation is polled.
pub(super) fn where_to_poll(body: Bytes, id: &ConversationId) -> Response {
    let mut response = ([(header::CONTENT_TYPE, tagged::JSON)], body).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/conversations/{id}/finalization")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Words for the optional body.
pub(super) const CONTEXT: &[Note] = &[(
    "calendar_meeting_context",
    "The meeting it was, as a calendar knows it: a title, names and an agenda help to understand what was said.",
    "",
)];

/// The optional body (DECISIONS §4, "body of finalize"), as it is kept: only known fields, in one form.
pub(super) fn read_context(fields: &mut Fields<'_>) -> Option<Option<Value>> {
    Some(fields.optional("calendar_meeting_context", meeting_of_calendar()))
}

fn meeting_of_calendar() -> Named<impl Take<Out = Value>> {
    let words = "A meeting as a calendar knows it.";
    Named { name: "CalendarMeeting", words, notes: MEETING, take: Object(meeting) }
}

const MEETING: &[Note] = &[
    ("title", "Its title.", ""),
    ("start_time", "Planned start.", ""),
    ("duration_minutes", "Planned length, in minutes.", ""),
    ("platform", "Where it was held.", ""),
    ("participants", "Participants.", ""),
    ("notes", "Its agenda.", ""),
    ("meeting_link", "How to join.", ""),
];

const PARTICIPANT: &[Note] = &[("name", "A name.", ""), ("email", "An address.", "")];

fn meeting(fields: &mut Fields<'_>) -> Option<Value> {
    let words = "Who takes part in a meeting.";
    let person = Named { name: "MeetingParticipant", words, notes: PARTICIPANT, take: Object(participant) };
    let people = ListOf { item: person, min: 0, max: 1_000 };
    Some(json!({
        "title": fields.optional("title", Text::label()),
        "start_time": fields.optional("start_time", Moment).map(|start| shapes::moment(start.at)),
        "duration_minutes": fields.optional("duration_minutes", Int::between(0, i64::from(i32::MAX))),
        "platform": fields.optional("platform", Text::label()),
        "participants": fields.optional("participants", people).unwrap_or_default(),
        "notes": fields.optional("notes", NOTES),
        "meeting_link": fields.optional("meeting_link", LINK),
    }))
}

fn participant(fields: &mut Fields<'_>) -> Option<Value> {
    Some(json!({
        "name": fields.optional("name", Text::label()),
        "email": fields.optional("email", Text::label()),
    }))
}

pub(super) async fn poll(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    headers: HeaderMap,
) -> Answered {
    let found = state.ledger.poll(&caller.user, &ConversationId::new(id)).await?;
    let mut poll = found.ok_or(Error::NotFound("Conversation finalization job"))?;
    poll.can_finalize_again &= state.settings.finalize_enabled;
    // The job's id names user, conversation and revision; its row's version every change of the job.
    let again = if poll.can_finalize_again { "-again" } else { "" };
    let tag = format!("W/\"{}-{}{again}\"", poll.stored.job.id.as_str(), poll.stored.version);
    let mut response = match tagged::is_current(&headers, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Json(shapes::poll(&poll)).into_response(),
    };
    put_headers(response.headers_mut(), &poll, &tag);
    Ok(response)
}

fn put_headers(headers: &mut HeaderMap, poll: &Poll, tag: &str) {
    tagged::put(headers, tag);
    if !poll.stored.job.state.is_terminal() {
        let seconds = if poll.waits_longer() { SLOW_POLL_SECONDS } else { POLL_SECONDS };
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
}
