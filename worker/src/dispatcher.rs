//! The dispatcher loop of everything that is sent outside: claim what is due for the free slots, send each in a slot
//! of its own, and sleep until more is due or written.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use outbox::{DeliveryOutcome, SenderLoad};
use records::UserId;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span};

use crate::{
    outcome::{self, LOST},
    retry::{BackOff, Unanswered},
    sender_slots::{ReceiverWait, SenderSlots},
    shared::Shared,
    traces,
};

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Something may be due that cannot be claimed (a full endpoint): it is asked for again, not in a tight loop.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);

/// What came of a try: how it ended, and what is counted of it; `None` when it came to no end.
type Tried = Option<(DeliveryOutcome, &'static str)>;

/// One kind of thing that is sent: webhooks' deliveries, or pushes.
pub(crate) trait Outbound: Clone + Send + Sync + 'static {
    /// What is claimed, and sent once.
    type Claimed: Send + Sync + 'static;

    /// What a log line calls it.
    const NAME: &'static str;

    /// Whose it is, and its id.
    fn of(claimed: &Self::Claimed) -> (&UserId, &str);

    /// Where it goes.
    fn url(claimed: &Self::Claimed) -> &str;

    /// The span of a try.
    fn span(claimed: &Self::Claimed) -> Span;

    /// Claims at most `limit` that are due now; `load` is what this process has under way.
    fn claim(
        &self,
        limit: i64,
        load: SenderLoad,
    ) -> impl Future<Output = Result<Vec<Self::Claimed>, db::Error>> + Send;

    /// Sends it; `None` when its claim was over before anything was sent. Its receiver is waited for until `wait` ends.
    fn send(
        &self,
        claimed: &Self::Claimed,
        wait: &ReceiverWait,
    ) -> impl Future<Output = Result<Option<DeliveryOutcome>, Unanswered>> + Send;

    /// Records how the try ended; `false`: its claim was over.
    fn finish(
        &self,
        claimed: &Self::Claimed,
        outcome: DeliveryOutcome,
    ) -> impl Future<Output = Result<bool, db::Error>> + Send;

    /// The try's number, and the waits between tries.
    fn tries<'a>(&'a self, claimed: &Self::Claimed) -> (i32, &'a [Duration]);

    /// Counts and logs a try.
    fn report(&self, claimed: &Self::Claimed, counted: &'static str);

    /// How long until something is due.
    fn next_in(&self) -> impl Future<Output = Result<Option<Duration>, db::Error>> + Send;

    /// Returns when something was written in this process, or may be claimed after all.
    fn written(&self) -> impl Future<Output = ()> + Send;
}

/// Runs dispatchers of one kind. They stop when the runs do. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Dispatcher<E> {
    pub(crate) shared: Shared,
    pub(crate) outbound: E,
}

impl<E: Outbound> Dispatcher<E> {
    /// Keeps the loop running until the process stops: what breaks it must not break the runs.
    pub(crate) async fn keep_running(self, tracker: &TaskTracker) {
        let Shared { chance, hard, .. } = &self.shared;
        let mut back_off = BackOff::new(chance);
        loop {
            let once = hard.clone().run_until_cancelled_owned(self.clone().run(tracker.clone()));
            if tracker.spawn(once).await.is_ok() {
                return;
            }
            tracing::error!("the loop of {} ended by itself and is started again", E::NAME);
            hard.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
        }
    }

    /// Claims and sends until the process stops; tries under way are `tracker`'s.
    async fn run(self, tracker: TaskTracker) {
        let (slots, soft) = (SenderSlots::new(), &self.shared.soft);
        let mut back_off = BackOff::new(&self.shared.chance);
        while let Some(mut free) = soft.run_until_cancelled(slots.free()).await.flatten() {
            let limit = i64::try_from(free.num_permits()).unwrap_or(i64::MAX);
            match self.outbound.claim(limit, slots.load(&free)).await {
                Ok(claimed) => {
                    back_off.reset();
                    let nothing_due = claimed.is_empty();
                    slots.note_turns(claimed.iter().map(|one| E::of(one).0));
                    for one in claimed {
                        let slot = free.split(1);
                        tracker.spawn(self.clone().try_in_slot(one, slot, slots.clone()));
                    }
                    drop(free);
                    if nothing_due {
                        self.sleep().await;
                    }
                }
                Err(error) => {
                    drop(free);
                    tracing::warn!(%error, "{} could not be claimed", E::NAME);
                    soft.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
                }
            }
        }
    }

    fn try_in_slot(
        self,
        claimed: E::Claimed,
        slot: Option<OwnedSemaphorePermit>,
        slots: SenderSlots,
    ) -> impl Future<Output = ()> + Send {
        let counted = slots.count(E::of(&claimed).0, E::url(&claimed));
        async move {
            let (span, wait) = (E::span(&claimed), ReceiverWait::default());
            let once = self.try_once(&claimed, &wait).instrument(span.clone());
            let tried = slots.hold(counted, slot, &wait, once);
            if let Some(Some((outcome, counted))) = self.shared.hard.run_until_cancelled(tried).await {
                traces::delivered(&span, outcome, counted);
            }
        }
    }

    /// One try, with its end recorded. Whatever ends it without an answer of the ledger, it is due again at its `until`;
    /// a panic counts as a try, or it would be repeated for ever.
    async fn try_once(&self, claimed: &E::Claimed, wait: &ReceiverWait) -> Tried {
        let outcome = match AssertUnwindSafe(self.outbound.send(claimed, wait)).catch_unwind().await {
            Ok(Ok(Some(outcome))) => outcome,
            Ok(Ok(None)) => {
                self.outbound.report(claimed, LOST);
                return None;
            }
            Ok(Err(Unanswered::Stopped)) => return None,
            Ok(Err(Unanswered::Broken)) => outcome::unreadable(&self.shared.chance),
            Err(_) => {
                tracing::error!(delivery_id = E::of(claimed).1, "sending one of {} panicked", E::NAME);
                outcome::unreadable(&self.shared.chance)
            }
        };
        let recorded = self.shared.with_retries(|| self.outbound.finish(claimed, outcome)).await;
        let (number, schedule) = self.outbound.tries(claimed);
        let counted =
            if matches!(recorded, Ok(true)) { outcome::label(outcome, number, schedule) } else { LOST };
        self.outbound.report(claimed, counted);
        Some((outcome, counted))
    }

    async fn sleep(&self) {
        let until_next = match self.outbound.next_in().await {
            Ok(Some(wait)) => wait.clamp(SHORTEST_SLEEP, POLL_INTERVAL),
            Ok(None) | Err(_) => POLL_INTERVAL,
        };
        let written = tokio::time::timeout(until_next, self.outbound.written());
        self.shared.soft.run_until_cancelled(written).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::future::pending;
    use std::sync::{Arc, LazyLock, Mutex};

    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::settings::Settings;

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

        fn of((): &()) -> (&UserId, &str) {
            static USER: LazyLock<UserId> = LazyLock::new(|| UserId::new("user"));
            (&USER, "note")
        }

        fn url((): &()) -> &str {
            "https://notes.example"
        }

        fn span((): &()) -> Span {
            Span::none()
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

        async fn send(&self, (): &(), _: &ReceiverWait) -> Result<Option<DeliveryOutcome>, Unanswered> {
            Ok(None)
        }

        async fn finish(&self, (): &(), _: DeliveryOutcome) -> Result<bool, db::Error> {
            Ok(true)
        }

        fn tries(&self, (): &()) -> (i32, &[Duration]) {
            (1, &[])
        }

        fn report(&self, (): &(), _: &'static str) {}

        async fn next_in(&self) -> Result<Option<Duration>, db::Error> {
            Ok(self.next_in)
        }

        async fn written(&self) {
            pending().await
        }
    }

    /// When the loop claimed in its first ten seconds.
    async fn claims(first: Claim, then: Claim, next_in: Option<Duration>) -> Vec<Duration> {
        let shared = Shared::alone(Settings { seed: 5, ..Settings::default() });
        let (soft, claims) = (shared.soft.clone(), Arc::default());
        let outbound = Noted {
            first,
            then,
            next_in,
            began: Instant::now(),
            claims: Arc::clone(&claims),
            soft: soft.clone(),
        };
        let dispatcher = Dispatcher { shared, outbound };
        let running = tokio::spawn(async move { dispatcher.keep_running(&TaskTracker::new()).await });
        tokio::time::sleep(Duration::from_secs(10)).await;
        soft.cancel();
        running.await.unwrap();
        Arc::try_unwrap(claims).unwrap().into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn dispatcher_polls_once_a_second_while_nothing_is_due() {
        for next_in in [None, Some(Duration::from_secs(3_600))] {
            let claims = claims(Claim::FindsNothing, Claim::FindsNothing, next_in).await;
            assert!((10..=11).contains(&claims.len()), "{claims:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn dispatcher_polls_slowly_when_due_rows_cannot_be_claimed() {
        let claims = claims(Claim::FindsNothing, Claim::FindsNothing, Some(Duration::ZERO)).await;
        assert!((180..=201).contains(&claims.len()), "{} claims", claims.len());
    }

    #[tokio::test(start_paused = true)]
    async fn dispatcher_backs_off_while_the_database_fails() {
        let claims = claims(Claim::IsRefused, Claim::IsRefused, None).await;
        // After 0.1, 0.2, 0.4, 0.8, 1.6 and 3.2 s, with their jitter.
        assert!((6..=8).contains(&claims.len()), "{claims:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn dispatcher_restarts_after_a_panic() {
        let claims = claims(Claim::Panics, Claim::FindsNothing, None).await;
        assert!(claims[1] >= Duration::from_millis(80), "{claims:?}");
        assert!((10..=12).contains(&claims.len()), "{claims:?}");
    }
}
