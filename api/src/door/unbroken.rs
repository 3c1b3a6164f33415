//! What is not given up when its client hangs up.

use tracing::Instrument;

/// Does `work` to its end, also when whoever waits for it goes. A panic in it reaches whoever waits.
pub(crate) async fn unbroken<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work.in_current_span()).await {
        Ok(answer) => answer,
        Err(broken) => std::panic::resume_unwind(broken.into_panic()),
    }
}
