//! Repeating an operation of the ledger until it is answered: a paid result is not thrown away because the
//! database was away for a minute (DESIGN §5).

use std::time::Duration;

use db::Error;

use crate::chance::Chance;
use crate::shared::Shared;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Waits between two tries at a database that does not answer: doubling, bounded, with jitter.
pub(crate) struct BackOff {
    chance: Chance,
    next: Duration,
}

impl BackOff {
    pub(crate) fn new(chance: &Chance) -> Self {
        Self { chance: chance.clone(), next: FIRST_WAIT }
    }

    /// How long to wait after one more failure.
    pub(crate) fn wait(&mut self) -> Duration {
        let wait = self.chance.around(self.next);
        self.next = (self.next * 2).min(LONGEST_WAIT);
        wait
    }

    /// Forgets the failures: the database answered.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST_WAIT;
    }
}

/// Why an operation has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The process is being stopped hard: no task waits for the answer any more.
    Stopped,
    /// The ledger refuses in a way that repeating does not mend; it has been logged.
    Broken,
}

impl Shared {
    /// Repeats `operation` on passing errors until it is answered, each time within the deadline of an operation, or until a hard stop.
    pub(crate) async fn with_retries<T, F>(&self, mut operation: impl FnMut() -> F) -> Result<T, Unanswered>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut back_off = BackOff::new(&self.chance);
        let answered = async {
            loop {
                match self.ledger.db().in_time(operation()).await {
                    Ok(answer) => return Ok(answer),
                    Err(error) if error.is_passing() => tracing::warn!(%error, "the operation is repeated"),
                    Err(error) => {
                        tracing::error!(%error, "the operation is given up");
                        return Err(Unanswered::Broken);
                    }
                }
                tokio::time::sleep(back_off.wait()).await;
            }
        };
        self.hard.run_until_cancelled(answered).await.unwrap_or(Err(Unanswered::Stopped))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::settings::Settings;

    fn shared() -> Shared {
        Shared::alone(Settings { seed: 1, ..Settings::default() })
    }

    fn contended() -> Error {
        Error::Contended { doing: "testing" }
    }

    fn impossible() -> Error {
        Error::ImpossibleRow { table: "jobs", id: "fj_1".to_owned(), column: "status" }
    }

    #[tokio::test(start_paused = true)]
    async fn retry_repeats_transient_errors_until_success() {
        let tries = AtomicU32::new(0);
        let answer = shared()
            .with_retries(|| async {
                match tries.fetch_add(1, Ordering::Relaxed) {
                    0..20 => Err(contended()),
                    tries => Ok(tries),
                }
            })
            .await;
        assert_eq!(answer.unwrap(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn retry_reports_permanent_errors_at_once() {
        let tries = AtomicU32::new(0);
        let answer: Result<(), _> = shared()
            .with_retries(|| async {
                tries.fetch_add(1, Ordering::Relaxed);
                Err(impossible())
            })
            .await;
        assert!(matches!(answer, Err(Unanswered::Broken)));
        assert_eq!(tries.into_inner(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn retry_ends_at_a_hard_stop() {
        let shared = shared();
        let answer: Result<(), _> = shared
            .with_retries(|| {
                shared.hard.cancel();
                async { Err(contended()) }
            })
            .await;
        assert!(matches!(answer, Err(Unanswered::Stopped)));
    }

    #[test]
    fn retry_waits_double_up_to_a_limit_and_reset() {
        let mut back_off = BackOff::new(&Chance::new(3));
        let first = back_off.wait();
        let last = (0..20).map(|_| back_off.wait()).last().unwrap();
        assert!(first <= Duration::from_millis(120));
        assert!((4_000..=6_000).contains(&last.as_millis()));
        back_off.reset();
        assert!(back_off.wait() <= Duration::from_millis(120));
    }
}
