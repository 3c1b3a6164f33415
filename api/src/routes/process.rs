//! The original's own routes: processing what is in progress, and processing again (DECISIONS §4).

use axum::http::HeaderMap;
use futures::future::{BoxFuture, join_all};
use job::WorkerId;
use ledger::{EndedBy, Ledger, LiveAdmission, ReprocessRefusal, WithKeys};
use records::{ConversationId, UserId};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Duration, timeout},
};

use super::{
    answer,
    byok::{key_of, permit, resume},
    conversations::{KIND, find_whole},
    finalize::{CONTEXT, finalize, no_content, read_context, show, shown_again, where_to_poll},
    path::Ids,
    waiting,
};
use crate::{
    Answer, Answered, AppState, Caller, Code, Endpoint, Error, Scope,
    keyed::{admitted, ended_with_keys},
    read::{Body, optional_object},
    registry::Command,
    shapes,
    state::Wait,
    takes,
};

/// What a 404 says is missing when nothing is in progress.
const IN_PROGRESS: &str = "Conversation in progress";
/// How long the user's sessions of this process may take to store what was said.
const FLUSH: Duration = Duration::from_secs(4);

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post("/v1/conversations", Scope::ConversationsWrite, in_progress)
            .named("process_conversation_in_progress", "Process the conversation in progress")
            .says(
                "Ends the conversation that is in progress, the one that was active last if there are several. Of a live one, \
                 what was said is stored first.",
            )
            .shown_anew(shown_again)
            .resumes(resume)
            .takes_model_key()
            .optional_body("Finalize", takes(read_context, CONTEXT), json!({}))
            .answers(
                Answer::one::<shapes::FinalizingConversation<'_>>("Admitted.").with_header("Location"),
            )
            .not_found(IN_PROGRESS),
        Endpoint::post("/v1/conversations/{conversation_id}/reprocess", Scope::ConversationsWrite, again)
            .named("reprocess_conversation", "Process a conversation again")
            .says(
                "Processes a completed or failed conversation anew, and waits for that like a create. Until it is done, a \
                 completed one is shown with its old results; what the user has touched stays.",
            )
            .waits(Wait::Job)
            .shown_anew(reprocessed_again)
            .resumes(resume)
            .takes_model_key()
            .answers(Answer::one::<shapes::Conversation<'_>>("As it is now.").with_header("Location"))
            .not_found(KIND)
            .conflict("Conversation is still in progress: finalize it first")
            .conflict("This user's conversations are processed with the user's own keys only"),
    ]
}

/// POST `/v1/conversations`: ends the conversation that is in progress, the one that was active last if there are several.
/// It needs no durable dispatch. What was just said to sockets of this process is stored first: a live conversation without words is
/// not in progress yet, and these may be its first.
async fn in_progress(state: AppState, caller: Caller, headers: HeaderMap, body: Body) -> Answered {
    let key = key_of(&headers)?;
    let context = optional_object(body, read_context)?.flatten();
    let live = &state.settings.live.live;
    let _ = timeout(FLUSH, join_all(live.sessions_of(&caller.user).into_iter().map(flush))).await;
    let found = state.ledger.store().in_progress(&caller.user).await?.ok_or(Error::NotFound(IN_PROGRESS))?;
    if !found.is_live {
        return finalize(&state, &caller, &found.id, context, key).await;
    }
    caller.account.has_room()?;
    match end_live(&state, &caller.user, &found.id, context, key).await? {
        LiveAdmission::Empty => return Err(Error::NotFound(IN_PROGRESS)),
        LiveAdmission::Admitted(_) => state.metrics.admissions.with_label_values(&["live"]).inc(),
        LiveAdmission::Ended | LiveAdmission::Superseded | LiveAdmission::NotDue => {}
    }
    live.admitted(&caller.user, &found.id);
    show(&caller.account, &find_whole(&state, &caller, &found.id).await?)
}

/// Has a live session store what was said to it.
async fn flush(session: mpsc::Sender<Command>) {
    let (answer, flushed) = oneshot::channel();
    if session.send(Command::Flush(answer)).await.is_ok() {
        let _ = flushed.await;
    }
}

/// Ends a live conversation with the request's key, if it brought one.
async fn end_live(
    state: &AppState,
    user: &UserId,
    id: &ConversationId,
    context: Option<Value>,
    key: Option<SecretString>,
) -> Result<LiveAdmission, Error> {
    let Some(key) = key else {
        let by = EndedBy::Owner { calendar_meeting_context: context.as_ref() };
        return Ok(state.ledger.admit_live(user, id, by, None).await?);
    };
    let (user, id) = (user.clone(), id.clone());
    admitted(
        permit(state, &user)?,
        &state.ledger,
        key,
        async move |ledger: Ledger, claimant: Option<WorkerId>| {
            let by = EndedBy::Owner { calendar_meeting_context: context.as_ref() };
            let keys = WithKeys { claimant: claimant.as_ref() };
            Ok(ended_with_keys(ledger.admit_live(&user, &id, by, Some(keys)).await?))
        },
    )
    .await
}

/// POST `…/reprocess`: admits the next revision of a completed or failed conversation and waits for it like a create.
/// Until it is done, a completed conversation is shown with its old results; `Location` says where to ask.
async fn again(state: AppState, caller: Caller, headers: HeaderMap, Ids(id): Ids<String>) -> Answered {
    caller.account.has_room()?;
    let id = ConversationId::new(id);
    let fresh = match key_of(&headers)? {
        None => state.ledger.reprocess(&caller.user, &id, None).await?.map(|admitted| admitted.fresh),
        Some(key) => reprocess_with(key, &state, &caller.user, &id).await?,
    };
    if fresh.map_err(refusal)? {
        state.metrics.admissions.with_label_values(&["reprocess"]).inc();
    }
    waiting::for_the_end(&state.ledger, &caller.user, &id, state.settings.create_wait).await;
    present(&state, &caller, &id).await
}

/// The answer to a reprocess, of a conversation as it is now.
async fn present(state: &AppState, caller: &Caller, id: &ConversationId) -> Answered {
    let view = find_whole(state, caller, id).await?;
    let body = caller.account.json(&shapes::conversation(&view, true))?;
    Ok(where_to_poll(body, id))
}

fn reprocessed_again<'a>(
    state: &'a AppState,
    caller: &'a Caller,
    ids: &'a [String],
) -> BoxFuture<'a, Answered> {
    Box::pin(async move { present(state, caller, &ConversationId::new(answer::only(ids)?)).await })
}

/// Admits with the user's own key, or resumes the parked job that is there; whether the job is a new one.
async fn reprocess_with(
    key: SecretString,
    state: &AppState,
    user: &UserId,
    id: &ConversationId,
) -> Result<Result<bool, ReprocessRefusal>, Error> {
    let (user, id) = (user.clone(), id.clone());
    admitted(
        permit(state, &user)?,
        &state.ledger,
        key,
        async move |ledger: Ledger, claimant: Option<WorkerId>| {
            let keys = WithKeys { claimant: claimant.as_ref() };
            Ok(match ledger.reprocess(&user, &id, Some(keys)).await? {
                Ok(done) => (Ok(done.fresh), Some(done.job_id), done.claimed.map(|claimed| *claimed)),
                Err(refusal) => (Err(refusal), None, None),
            })
        },
    )
    .await
}

fn refusal(refusal: ReprocessRefusal) -> Error {
    match refusal {
        ReprocessRefusal::NoConversation => Error::NotFound(KIND),
        ReprocessRefusal::NotFinished => Error::Refused(Code::NotFinished),
        ReprocessRefusal::KeysRequired => Error::Refused(Code::KeysRequired),
        ReprocessRefusal::NoContent => no_content(),
    }
}
