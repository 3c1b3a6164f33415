//! Two tokens: the first signal asks, the second insists.

use std::{process::ExitCode, time::Duration};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How this process is asked to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifecycle {
    /// Stop claiming, finish requests, let runs reach their next checkpoint, release leases.
    pub(crate) soft: CancellationToken,
    /// Stop at once.
    pub(crate) hard: CancellationToken,
}

impl Lifecycle {
    /// Follows the signals, those that came before included.
    pub(crate) fn of(mut signals: Interruption) -> Self {
        let lifecycle = Self::default();
        let told = lifecycle.clone();
        tokio::spawn(async move {
            for (token, at_once) in [(told.soft, false), (told.hard, true)] {
                signals.heard().await;
                tracing::info!(at_once, "asked to stop");
                token.cancel();
            }
        });
        lifecycle
    }

    /// The same for what is asked to stop so much later: at the latest when the second signal insists.
    pub(crate) fn later(&self, tasks: &TaskTracker, wait: Duration) -> Self {
        let later = Self { soft: CancellationToken::new(), hard: self.hard.clone() };
        let (first, asked) = (self.clone(), later.soft.clone());
        tasks.spawn(async move {
            first.soft.cancelled().await;
            first.hard.run_until_cancelled(tokio::time::sleep(wait)).await;
            asked.cancel();
        });
        later
    }
}

/// The signals SIGTERM, SIGINT and SIGHUP, which end nothing by themselves from then on.
#[derive(Debug)]
pub(crate) struct Interruption {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal is gone, as when a connection to the machine breaks. `None` where the process was started not to mind
    /// (`nohup`), or it is not known.
    hang_up: Option<Signal>,
}

impl Interruption {
    /// Listens for them from now on.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: minds_hang_up(&status).then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for the next one. Answers the code by which shells know that it ended a command.
    pub(crate) async fn heard(&mut self) -> ExitCode {
        let signal = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            () = next_of(&mut self.hang_up) => SignalKind::hangup(),
        };
        ExitCode::from(u8::try_from(128 + signal.as_raw_value()).unwrap_or(1))
    }
}

async fn next_of(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP, the first of the signals, ends a process of that status (`/proc/self/status`), which is not to be changed.
fn minds_hang_up(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 0)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const WAIT: Duration = Duration::from_secs(30);

    #[test]
    fn hang_up_stays_ignored_behind_nohup() {
        assert!(minds_hang_up("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\n"));
        assert!(!minds_hang_up("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!minds_hang_up(""), "another system");
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_delay_is_waited_for_and_cut_by_the_second_signal() {
        for (insists, waited) in [(false, WAIT), (true, Duration::ZERO)] {
            let (lifecycle, begun) = (Lifecycle::default(), Instant::now());
            let later = lifecycle.later(&TaskTracker::new(), WAIT);
            lifecycle.soft.cancel();
            tokio::task::yield_now().await;
            assert!(!later.soft.is_cancelled());
            if insists {
                lifecycle.hard.cancel();
            }
            later.soft.cancelled().await;
            assert_eq!((begun.elapsed(), later.hard.is_cancelled()), (waited, insists));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_without_a_delay_starts_at_once() {
        let (lifecycle, begun) = (Lifecycle::default(), Instant::now());
        let later = lifecycle.later(&TaskTracker::new(), Duration::ZERO);
        lifecycle.soft.cancel();
        later.soft.cancelled().await;
        assert!(begun.elapsed() <= Duration::from_millis(1), "the timer's own grain");
    }
}
