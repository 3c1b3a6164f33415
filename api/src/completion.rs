//! Work that runs to its end although its client has hung up: an operation on the database is never cancelled in the middle.

use axum::{extract::Request, middleware::Next, response::Response};
use futures::future::BoxFuture;
use tracing::Instrument;

/// Middleware: each request is worked on in a task of its own, whatever becomes of its connection. It needs a time limit
/// inside of it.
pub async fn run_requests_to_completion(request: Request, next: Next) -> Response {
    run_to_completion(next.run(request)).await
}

/// Does `work` to its end, also when the caller is dropped. A panic in it reaches the caller.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    // Boxed: the runtime's part of a task is compiled once, not for every kind of work.
    let work: BoxFuture<'static, T> = Box::pin(work.in_current_span());
    match tokio::spawn(work).await {
        Ok(answer) => answer,
        Err(broken) => std::panic::resume_unwind(broken.into_panic()),
    }
}
