//! What no route answers: a path with a slash too many is sent on to the one without, as Starlette does; else it is
//! unknown.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, Uri, header::LOCATION},
    response::{IntoResponse, Response},
};

use super::Door;
use crate::Error;

/// 307, so that a POST stays one; to a path and not a URL, which holds behind any proxy.
pub(super) async fn fallback(State(door): State<Door>, uri: Uri) -> Response {
    let path = uri.path();
    let shorter = path.trim_end_matches('/');
    if shorter.len() == path.len() || !door.patterns.has(shorter) {
        return Error::UnknownPath.into_response();
    }
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    match HeaderValue::try_from(format!("{shorter}{query}")) {
        Ok(place) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, place)]).into_response(),
        Err(_) => Error::UnknownPath.into_response(),
    }
}
