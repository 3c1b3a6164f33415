//! `Idempotency-Key`: a request that creates is done once for each name that its client gave it (DECISIONS §3).
//!
//! The ledger notes the name in the transaction that creates; around that, here, a repeat is answered without asking the
//! handler, and the first answer is kept.

use std::sync::Arc;

use axum::{
    Json,
    body::{Body, Bytes, to_bytes},
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use db::{Repeat, RequestKey};
use futures::future::BoxFuture;
use records::{ConversationId, UserId};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    Answered, AppState, Caller, Code, Error, Problem,
    read::{Arrived, whole},
    state::BODY_LIMIT,
};

/// The header that names a request.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of an answer that was given before.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest name.
const LONGEST: usize = 255;

/// A first answer that was lost, of the user's objects with these ids.
pub(crate) type Kept =
    Arc<dyn Fn(AppState, UserId, Vec<String>) -> BoxFuture<'static, Result<Value, Error>> + Send + Sync>;
/// An answer that is not kept.
pub(crate) type Anew = for<'a> fn(&'a AppState, &'a Caller, &'a [String]) -> BoxFuture<'a, Answered>;

/// How a repeat is answered from the ids of what the first request created.
#[derive(Clone)]
pub(crate) enum Again {
    /// First answers are kept; this one is for a first answer that was lost with its process.
    Kept(Kept),
    /// Answers hold a whole transcript and are not kept: every repeat shows the conversation as it is now.
    Anew(Anew),
}

/// Hands the keys that a repeat brings to what the first request created: the conversation, and the repeat's headers.
pub(crate) type Resume = for<'a> fn(
    &'a AppState,
    &'a UserId,
    &'a ConversationId,
    &'a HeaderMap,
) -> BoxFuture<'a, Result<(), Error>>;

/// Stands before an endpoint that creates: a request with a name is done once.
pub(crate) async fn once(
    State((state, again, resume)): State<(AppState, Again, Option<Resume>)>,
    request: Request,
    next: Next,
) -> Response {
    match request.headers().contains_key(HEADER) {
        true => {
            named(&state, (again, resume), request, next).await.unwrap_or_else(IntoResponse::into_response)
        }
        false => next.run(request).await,
    }
}

async fn named(
    state: &AppState,
    (again, resume): (Again, Option<Resume>),
    request: Request,
    next: Next,
) -> Answered {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, state).await?;
    let route =
        parts.extensions.get::<MatchedPath>().ok_or(Error::Refused(Code::UnknownPath))?.as_str().to_owned();
    let name = name_in(&parts.headers)?;
    let bytes = whole(Request::from_parts(parts.clone(), body), state).await?;
    let fingerprint = fingerprint(&route, parts.uri.path(), &bytes);
    let key = RequestKey { user: caller.user.clone(), route, key: name, fingerprint };
    if let Some(repeat) = state.ledger.db().repeat_of(&key).await? {
        if let Some(resume) = resume
            && let Some(made) = conversation_of(&repeat)
        {
            resume(state, &key.user, &made, &parts.headers).await?;
        }
        return answer_again(state, &caller, &key, again, repeat).await;
    }
    parts.extensions.insert(key.clone());
    parts.extensions.insert(Arrived(bytes));
    let answer = next.run(Request::from_parts(parts, Body::empty())).await;
    Ok(match answer.status().is_success() {
        true => keep(state, &key, again, answer).await,
        false => answer,
    })
}

/// The name: printable ASCII, quoted (a Structured Field string) or bare. Two are refused: each may be the name of another
/// request.
pub(crate) fn name_in(headers: &HeaderMap) -> Result<String, Error> {
    let mut sent = headers.get_all(HEADER).iter();
    let first = sent.next();
    if sent.next().is_some() {
        return Err(refused("the header must be sent once"));
    }
    let sent = first.and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
    let inner = sent.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(sent);
    let harmless = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    match (1..=LONGEST).contains(&inner.len()) && inner.bytes().all(harmless) {
        true => Ok(inner.to_owned()),
        false => {
            Err(refused("the key must be 1 to 255 printable ASCII characters without blanks and quotes"))
        }
    }
}

/// What a request is recognized by: its body, and, since a name counts for a whole route, the ids in its path.
fn fingerprint(route: &str, path: &str, body: &[u8]) -> [u8; 32] {
    let ids = if route.contains('{') { path } else { "" };
    Sha256::new().chain_update(ids).chain_update(body).finalize().into()
}

pub(crate) fn refused(words: &str) -> Error {
    Error::Invalid(vec![Problem::rule(vec!["header".into(), "idempotency-key".into()], words)])
}

/// The conversation that the first request made.
fn conversation_of(repeat: &Repeat) -> Option<ConversationId> {
    let id = match repeat {
        Repeat::Answered { answer, .. } => {
            serde_json::from_str::<Value>(answer).ok()?.get("id")?.as_str()?.to_owned()
        }
        Repeat::Made(made) => made.first()?.clone(),
        Repeat::OtherBody | Repeat::Running(_) => return None,
    };
    Some(ConversationId::new(id))
}

async fn answer_again(
    state: &AppState,
    caller: &Caller,
    key: &RequestKey,
    again: Again,
    repeat: Repeat,
) -> Answered {
    let mut response = match repeat {
        Repeat::OtherBody => {
            return Err(refused(
                "the key was used for another request: another body, or another id in its path",
            ));
        }
        Repeat::Running(seconds) => return Err(Error::Later(Code::StillRunning, seconds.min(2))),
        Repeat::Answered { status, answer } => {
            let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            (StatusCode::from_u16(status).unwrap_or_default(), json, answer).into_response()
        }
        Repeat::Made(made) => match again {
            Again::Kept(again) => Json(again(state.clone(), key.user.clone(), made).await?).into_response(),
            Again::Anew(again) => again(state, caller, &made).await?,
        },
    };
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// Keeps what was answered, without what is shown once. An answer that cannot be kept is no reason not to give it:
/// a repeat is then answered from what was made.
async fn keep(state: &AppState, key: &RequestKey, again: Again, answer: Response) -> Response {
    if matches!(again, Again::Anew(_)) {
        if let Err(error) = state.ledger.db().store_answer(key, None).await {
            tracing::warn!(%error, "a repeat may have to wait for a minute");
        }
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_LIMIT).await else {
        return Error::Refused(Code::UnreadableBody).into_response();
    };
    if let Some(kept) = without_secrets(&bytes)
        && let Err(error) =
            state.ledger.db().store_answer(key, Some((parts.status.as_u16(), kept.as_str()))).await
    {
        tracing::warn!(%error, "an answer was not kept for repeats");
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// A key's text and an endpoint's secret are kept as hashes or for signing alone; a repeat shows them no more.
fn without_secrets(bytes: &Bytes) -> Option<String> {
    let mut shape: Value = serde_json::from_slice(bytes).ok()?;
    if let Value::Object(fields) = &mut shape {
        fields.shift_remove("key");
        fields.shift_remove("secret");
    }
    Some(shape.to_string())
}

/// The state as a handler gets it: what its ledger creates is noted under the request's name, where the request has one.
impl FromRequestParts<Self> for AppState {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &Self) -> Result<Self, Self::Rejection> {
        let mut state = state.clone();
        if let Some(key) = parts.extensions.get::<RequestKey>() {
            state.ledger = Arc::new(state.ledger.under_key(key.clone()));
        }
        Ok(state)
    }
}
