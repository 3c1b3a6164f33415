//! What no route answers: `/` leads browsers to the documents; a path with a slash too many is sent on to the one without, as
//! Starlette does; else it is unknown.

use axum::{
    extract::State,
    http::{
        HeaderMap, HeaderValue, Method, StatusCode, Uri,
        header::{ACCEPT, LOCATION},
    },
    response::{IntoResponse, Response},
};

use crate::{AppState, Code, Error};

/// 307, so that a POST stays one; to a path and not a URL, which holds behind any proxy.
pub(super) async fn fallback(
    State(state): State<AppState>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = uri.path();
    if path == "/" && matches!(method, Method::GET | Method::HEAD) && wants_a_page(&headers) {
        let place = HeaderValue::from_static("/docs");
        return (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, place)]).into_response();
    }
    let shorter = path.trim_end_matches('/');
    if shorter.len() == path.len() || !state.patterns.has(shorter) {
        return Error::Refused(Code::UnknownPath).into_response();
    }
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    match HeaderValue::try_from(format!("{shorter}{query}")) {
        Ok(place) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, place)]).into_response(),
        Err(_) => Error::Refused(Code::UnknownPath).into_response(),
    }
}

/// A browser is led to the documents; a program gets the 404.
fn wants_a_page(headers: &HeaderMap) -> bool {
    let sent = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|list| list.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}
