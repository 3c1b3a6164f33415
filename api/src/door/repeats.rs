//! `Idempotency-Key`: a request that creates is done once for each name that its client gave it (DECISIONS §3).
//!
//! The ledger notes the name in the transaction that creates; around that, here, a repeat is answered without asking the
//! handler, and the first answer is kept.

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use db::{Repeat, RequestKey};
use records::ConversationId;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{BODY_LIMIT, Door};
use crate::{
    Error, Scope,
    keys::Caller,
    read::{Arrived, Problem, whole},
    routes,
};

/// The header that names a request.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of an answer that was given before.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest name.
const LONGEST: usize = 255;

/// Lets everything pass but requests that create and carry a name.
pub(super) async fn once(State(door): State<Door>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let known = route.and_then(|route| Some((door.creating.get(route.as_str()).copied()?, route)));
    match known {
        Some((scope, route)) if request.method() == "POST" && request.headers().contains_key(HEADER) => {
            named(&door, scope, route, request, next).await.unwrap_or_else(IntoResponse::into_response)
        }
        _ => next.run(request).await,
    }
}

/// Who asks comes before what is asked, as in every handler; the handler finds the caller where it was left.
async fn named(
    door: &Door,
    scope: Scope,
    route: String,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, door).await?;
    caller.require(scope)?;
    let name = name_in(&parts.headers)?;
    let bytes = whole(Request::from_parts(parts.clone(), body), door.settings.body_wait).await?;
    let fingerprint = fingerprint(&route, parts.uri.path(), &bytes);
    let key = RequestKey { user: caller.user.clone(), route, key: name, fingerprint };
    if let Some(repeat) = door.ledger.db().repeat_of(&key).await? {
        if let Some(made) = conversation_of(&key, &repeat) {
            routes::resume(door, &key.user, &made, &parts.headers).await?;
        }
        return answer_again(door, &caller, &key, repeat).await;
    }
    parts.extensions.insert(caller);
    parts.extensions.insert(key.clone());
    parts.extensions.insert(Arrived(bytes));
    let answer = next.run(Request::from_parts(parts, Body::empty())).await;
    Ok(match answer.status().is_success() {
        true => keep(door, &key, answer).await,
        false => answer,
    })
}

/// The name: printable ASCII, quoted (a Structured Field string) or bare.
pub(crate) fn name_in(headers: &HeaderMap) -> Result<String, Error> {
    let sent = headers.get(HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
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

/// The conversation that the first request made, where its job may wait for its person's keys.
fn conversation_of(key: &RequestKey, repeat: &Repeat) -> Option<ConversationId> {
    if !routes::NAMED_WITH_KEYS.contains(&key.route.as_str()) {
        return None;
    }
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
    door: &Door,
    caller: &Caller,
    key: &RequestKey,
    repeat: Repeat,
) -> Result<Response, Error> {
    let mut response = match repeat {
        Repeat::OtherBody => {
            return Err(refused(
                "the key was used for another request: another body, or another id in its path",
            ));
        }
        Repeat::Running(seconds) => return Err(Error::StillRunning { retry_after: seconds.min(2) }),
        Repeat::Answered { status, answer } => {
            let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            (StatusCode::from_u16(status).unwrap_or_default(), json, answer).into_response()
        }
        Repeat::Made(made) => routes::made(door, caller, &key.route, &made).await?,
    };
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// Keeps what was answered, without what is shown once. An answer that cannot be kept is no reason not to give it:
/// a repeat is then answered from what was made.
async fn keep(door: &Door, key: &RequestKey, answer: Response) -> Response {
    if routes::is_shown_anew(&key.route) {
        if let Err(error) = door.ledger.db().mark_answered(key).await {
            tracing::warn!(%error, "a repeat may have to wait for a minute");
        }
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_LIMIT).await else {
        return Error::UnreadableBody.into_response();
    };
    if let Some(kept) = without_secrets(&bytes)
        && let Err(error) = door.ledger.db().store_answer(key, parts.status.as_u16(), &kept).await
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

/// The state of a handler that creates: like any other, but what its ledger creates is noted under the request's name.
pub(crate) struct Creating(pub(crate) Door);

impl FromRequestParts<Door> for Creating {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Self::Rejection> {
        let mut door = door.clone();
        if let Some(key) = parts.extensions.get::<RequestKey>() {
            door.ledger = door.ledger.under_key(key.clone());
        }
        Ok(Self(door))
    }
}
