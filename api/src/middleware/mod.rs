//! What every request passes before its handler, from the outside in: see [`before`].

mod cors;
mod encoding;
mod idempotency;
mod memory;
mod pass;
mod request_id;
mod slash;

use axum::{Router, extract::DefaultBodyLimit, middleware};
use tower_http::compression::{CompressionLayer, DefaultPredicate, Predicate};

pub(crate) use encoding::{AsItIs, takes_gzip};
pub(crate) use idempotency::{
    Again, Anew, HEADER as IDEMPOTENCY_KEY, REPLAYED, Resume, name_in, once, refused,
};

use crate::{AppState, Code, Error, completion::run_requests_to_completion, state::BODY_LIMIT};

/// Puts the middleware before the routes: what every request passes, from the outside in.
pub(crate) fn before(routes: Router<AppState>, state: AppState) -> Router {
    let router = routes
        .fallback(slash::fallback)
        .method_not_allowed_fallback(async || Error::Refused(Code::MethodNotAllowed))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn_with_state(state.clone(), memory::bound))
        .layer(pass::catch_panics())
        .layer(middleware::from_fn_with_state(state.clone(), pass::track))
        .layer(CompressionLayer::new().compress_when(DefaultPredicate::new().and(encoding::may_compress)))
        // Outside of the compression, which would refuse an answer that is given already.
        .layer(middleware::map_request(encoding::leave_a_choice))
        .layer(middleware::from_fn(run_requests_to_completion));
    match state.settings.cors_origins.as_slice() {
        [] => router.with_state(state),
        origins => router.layer(cors::layer(origins)).with_state(state),
    }
}
