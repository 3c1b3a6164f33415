//! The original's own routes: processing what is in progress, and processing again (DECISIONS §4).

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use ledger::ReprocessRefusal;
use records::ConversationId;

use super::{
    conversations::KIND,
    finalize::{finalize, no_content, poll_route, read_context},
    path::Ids,
    waiting,
};
use crate::{
    Error, Scope,
    door::Door,
    keys::Caller,
    read::{Body, optional_object},
    shapes,
};

/// POST `/v1/conversations`: finalizes the conversation that is in progress, the newest if there are several. It needs
/// no durable dispatch.
pub(super) async fn in_progress(
    State(door): State<Door>,
    caller: Caller,
    body: Body,
) -> Result<Response, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let context = optional_object(body, read_context)?.flatten();
    let id = door.ledger.in_progress(&caller.user).await?.ok_or(Error::NotFound(KIND))?;
    finalize(&door, &caller.user, &id, context).await
}

/// POST `…/reprocess`: admits the next revision of a completed or failed conversation and waits for it like a create.
/// Until it is done, a completed conversation is shown with its old results; `Location` says where to ask.
pub(super) async fn again(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Response, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let id = ConversationId::new(id);
    let admitted = door.ledger.reprocess(&caller.user, &id).await?.map_err(refusal)?;
    if admitted.fresh {
        door.metrics.admissions.with_label_values(&["reprocess"]).inc();
    }
    waiting::for_the_end(&door.ledger, &caller.user, &id, door.settings.create_wait).await;
    let view = door.ledger.conversation(&caller.user, &id, true).await?.ok_or(Error::NotFound(KIND))?;
    let mut response = Json(shapes::conversation(&view, true)).into_response();
    if let Ok(place) = HeaderValue::from_str(&poll_route(&id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

fn refusal(refusal: ReprocessRefusal) -> Error {
    match refusal {
        ReprocessRefusal::NoConversation => Error::NotFound(KIND),
        ReprocessRefusal::NotFinished => {
            Error::Conflict("Conversation is still in progress: finalize it first")
        }
        ReprocessRefusal::KeysRequired => {
            Error::Conflict("This user's conversations are processed with the user's own keys only")
        }
        ReprocessRefusal::NoContent => no_content(),
    }
}
