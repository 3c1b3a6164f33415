//! Two tokens: the first signal asks, the second insists.

use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
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

/// The same signals, for a command that ends by itself and has to clear away before it ends otherwise.
#[derive(Debug)]
pub(crate) struct Interruption {
    terminate: Signal,
    interrupt: Signal,
}

impl Interruption {
    /// Listens for SIGTERM and SIGINT from now on.
    ///
    /// # Errors
    /// When the signals cannot be listened for.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one. Answers the code by which shells know that it ended a command.
    pub(crate) async fn heard(&mut self) -> ExitCode {
        let signal = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
        };
        ExitCode::from(u8::try_from(128 + signal.as_raw_value()).unwrap_or(1))
    }
}
