//! Two tokens: the first signal asks, the second insists.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How this process is asked to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifecycle {
    /// Stop claiming, finish requests, let runs reach their next checkpoint, release leases.
    pub(crate) soft: CancellationToken,
    /// Stop at once.
    pub(crate) hard: CancellationToken,
}

impl Lifecycle {
    /// Listens for SIGTERM and SIGINT from now on.
    ///
    /// # Errors
    /// When the signals cannot be listened for.
    pub(crate) fn of_signals() -> std::io::Result<Self> {
        let lifecycle = Self::default();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let told = lifecycle.clone();
        tokio::spawn(async move {
            for token in [told.soft, told.hard] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                tracing::info!(at_once = token.is_cancelled(), "asked to stop");
                token.cancel();
            }
        });
        Ok(lifecycle)
    }
}
