//! Counts the memory that a request and its answer take.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};

use super::encoding;
use crate::{AppState, state::Account};

/// What compressing an answer takes while the answer is being sent, the connection's buffers included.
const ENCODER: usize = 384 * 1_024;

/// Opens an account for the request, and holds its answer's memory until it is sent.
pub(super) async fn bound(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let account = Account::new(&state.budget);
    let may_refuse = request.method().is_safe();
    let encoder = if encoding::takes_gzip(request.headers()) { ENCODER } else { 0 };
    request.extensions_mut().insert(account.clone());
    let answer = next.run(request).await;
    account.hold_answer(answer, may_refuse, encoder).await
}
