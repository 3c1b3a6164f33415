//! The dispatcher loop of everything that is sent outside: claim what is due for the free slots, send each in a slot
//! of its own, and sleep until more is due or written.

use std::{future::Future, time::Duration};

use outbox::SenderLoad;
use records::UserId;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{chance::Chance, retry::BackOff, slots::Slots};

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Something may be due that cannot be claimed (a full endpoint): it is asked for again, not in a tight loop.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);

/// One kind of thing that is sent: webhooks' deliveries, or pushes.
pub(crate) trait Outbound: Clone + Send + Sync + 'static {
    /// What is claimed, and sent once.
    type Claimed: Send + Sync + 'static;

    /// What a log line calls it.
    const NAME: &'static str;

    /// Whose it is.
    fn user(claimed: &Self::Claimed) -> &UserId;

    /// Claims at most `limit` that are due now; `load` is what this process has under way.
    fn claim(
        &self,
        limit: i64,
        load: SenderLoad,
    ) -> impl Future<Output = Result<Vec<Self::Claimed>, db::Error>> + Send;

    /// One try, with its outcome recorded. A try that is dropped is due again by itself.
    fn deliver(&self, claimed: &Self::Claimed) -> impl Future<Output = ()> + Send;

    /// How long until something is due.
    fn next_in(&self) -> impl Future<Output = Result<Option<Duration>, db::Error>> + Send;

    /// Returns when something was written in this process, or may be claimed after all.
    fn written(&self) -> impl Future<Output = ()> + Send;
}

/// Runs dispatchers of one kind. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Dispatcher<E> {
    pub(crate) outbound: E,
    pub(crate) chance: Chance,
    pub(crate) soft: CancellationToken,
    pub(crate) hard: CancellationToken,
}

impl<E: Outbound> Dispatcher<E> {
    /// Keeps the loop running until the process stops: what breaks it must not break the runs.
    pub(crate) async fn keep_running(self, tracker: &TaskTracker) {
        let mut back_off = BackOff::new(&self.chance);
        let hard = self.hard.clone();
        loop {
            let once = hard.clone().run_until_cancelled_owned(self.clone().run(tracker.clone()));
            if tracker.spawn(once).await.is_ok() {
                return;
            }
            tracing::error!("the loop of {} ended by itself and is started again", E::NAME);
            hard.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
        }
    }

    /// Claims and tells until the process stops; tries under way are `tracker`'s.
    async fn run(self, tracker: TaskTracker) {
        let slots = Slots::new();
        let mut back_off = BackOff::new(&self.chance);
        while let Some(free) = self.soft.run_until_cancelled(slots.free()).await.flatten() {
            match self.outbound.claim(limit(&free), slots.load(&free)).await {
                Ok(claimed) => {
                    back_off.reset();
                    let nothing_due = claimed.is_empty();
                    self.start(claimed, free, &slots, &tracker);
                    if nothing_due {
                        self.sleep().await;
                    }
                }
                Err(error) => {
                    drop(free);
                    tracing::warn!(%error, "{} could not be claimed", E::NAME);
                    self.soft.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
                }
            }
        }
    }

    fn start(
        &self,
        claimed: Vec<E::Claimed>,
        mut free: OwnedSemaphorePermit,
        slots: &Slots,
        tracker: &TaskTracker,
    ) {
        for one in claimed {
            let (slot, counted, slots) = (free.split(1), slots.count(E::user(&one)), slots.clone());
            let (outbound, hard) = (self.outbound.clone(), self.hard.clone());
            tracker.spawn(async move {
                hard.run_until_cancelled(slots.hold(counted, slot, outbound.deliver(&one))).await;
            });
        }
    }

    async fn sleep(&self) {
        let until_next = match self.outbound.next_in().await {
            Ok(Some(wait)) => wait.clamp(SHORTEST_SLEEP, POLL_INTERVAL),
            Ok(None) | Err(_) => POLL_INTERVAL,
        };
        self.soft.run_until_cancelled(tokio::time::timeout(until_next, self.outbound.written())).await;
    }
}

fn limit(free: &OwnedSemaphorePermit) -> i64 {
    i64::try_from(free.num_permits()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::future::pending;
    use std::sync::{Arc, LazyLock, Mutex};

    use tokio::time::Instant;

    use super::*;

    /// More claims than this in the time of a test are a loop that does not rest; it is stopped.
    const MANY: usize = 1_000;

    /// What becomes of a claim.
    #[derive(Clone, Copy)]
    enum Claim {
        Panics,
        IsRefused,
        FindsNothing,
    }

    /// Notes when it is asked to claim. The first claim comes to `first`, the others to `then`.
    #[derive(Clone)]
    struct Noted {
        first: Claim,
        then: Claim,
        next_in: Option<Duration>,
        began: Instant,
        claims: Arc<Mutex<Vec<Duration>>>,
        soft: CancellationToken,
    }

    impl Outbound for Noted {
        type Claimed = ();

        const NAME: &'static str = "notes";

        fn user((): &()) -> &UserId {
            static NOBODY: LazyLock<UserId> = LazyLock::new(|| UserId::new("nobody"));
            &NOBODY
        }

        async fn claim(&self, _: i64, _: SenderLoad) -> Result<Vec<()>, db::Error> {
            let claims = {
                let mut claims = self.claims.lock().unwrap();
                claims.push(self.began.elapsed());
                claims.len()
            };
            if claims >= MANY {
                self.soft.cancel();
            }
            match if claims == 1 { self.first } else { self.then } {
                Claim::Panics => std::panic::resume_unwind(Box::new("a claim was told to panic")),
                Claim::IsRefused => Err(db::Error::Contended { doing: "claiming" }),
                Claim::FindsNothing => Ok(Vec::new()),
            }
        }

        async fn deliver(&self, (): &()) {}

        async fn next_in(&self) -> Result<Option<Duration>, db::Error> {
            Ok(self.next_in)
        }

        async fn written(&self) {
            pending().await
        }
    }

    /// When the loop claimed in its first ten seconds.
    async fn claims(first: Claim, then: Claim, next_in: Option<Duration>) -> Vec<Duration> {
        let (soft, claims) = (CancellationToken::new(), Arc::default());
        let outbound = Noted {
            first,
            then,
            next_in,
            began: Instant::now(),
            claims: Arc::clone(&claims),
            soft: soft.clone(),
        };
        let hard = CancellationToken::new();
        let dispatcher = Dispatcher { outbound, chance: Chance::new(5), soft: soft.clone(), hard };
        let running = tokio::spawn(async move { dispatcher.keep_running(&TaskTracker::new()).await });
        tokio::time::sleep(Duration::from_secs(10)).await;
        soft.cancel();
        running.await.unwrap();
        Arc::try_unwrap(claims).unwrap().into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn while_nothing_is_due_it_is_looked_for_once_a_second_however_far_off_the_next_is() {
        for next_in in [None, Some(Duration::from_secs(3_600))] {
            let claims = claims(Claim::FindsNothing, Claim::FindsNothing, next_in).await;
            assert!((10..=11).contains(&claims.len()), "{claims:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_due_and_cannot_be_claimed_is_asked_for_at_rest() {
        let claims = claims(Claim::FindsNothing, Claim::FindsNothing, Some(Duration::ZERO)).await;
        assert!((180..=201).contains(&claims.len()), "{} claims", claims.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_does_not_answer_is_asked_less_and_less_often() {
        let claims = claims(Claim::IsRefused, Claim::IsRefused, None).await;
        // After 0.1, 0.2, 0.4, 0.8, 1.6 and 3.2 s, with their jitter.
        assert!((6..=8).contains(&claims.len()), "{claims:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_panicked_is_started_again_after_a_moment() {
        let claims = claims(Claim::Panics, Claim::FindsNothing, None).await;
        assert!(claims[1] >= Duration::from_millis(80), "{claims:?}");
        assert!((10..=12).contains(&claims.len()), "{claims:?}");
    }
}
