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
    if shorter.len() == path.len() || !door.paths.iter().any(|pattern| fits(pattern, shorter)) {
        return Error::UnknownPath.into_response();
    }
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    match HeaderValue::try_from(format!("{shorter}{query}")) {
        Ok(place) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, place)]).into_response(),
        Err(_) => Error::UnknownPath.into_response(),
    }
}

/// Whether a path is of a route's pattern: an id is any step that is not empty.
fn fits(pattern: &str, path: &str) -> bool {
    let mut steps = path.split('/');
    let fits = pattern.split('/').all(|known| {
        steps.next().is_some_and(|step| step == known || (known.starts_with('{') && !step.is_empty()))
    });
    fits && steps.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_path_is_of_a_pattern_step_by_step() {
        assert!(fits("/v1/goals/{goal_id}/history", "/v1/goals/7/history"));
        for other in ["/v1/goals//history", "/v1/goals/7", "/v1/goals/7/history/x", "//v1/goals/7/history"] {
            assert!(!fits("/v1/goals/{goal_id}/history", other), "{other}");
        }
    }
}
