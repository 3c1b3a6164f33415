//! The dispatcher: hands dispatches over to the task queue until it has them. None is ever given up, and none is lost: what the queue
//! has not acknowledged stands in the job's row.

use std::time::Duration;

use futures::future::join_all;
use job::Queue;
use ledger::Ledger;
use outbox::HandOver;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::{Metrics, TaskQueue, queue::Created};

/// How many tasks are created at once.
const AT_ONCE: u32 = 16;
/// How often rows are looked at without a wake-up.
const POLL: Duration = Duration::from_secs(1);
/// How often the age of the oldest one is measured.
const MEASURE: Duration = Duration::from_secs(5);
/// How often an error is logged that goes on.
const LOG: Duration = Duration::from_secs(60);
/// The longest wait before another try.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// No queue is left alone for longer than this, whatever it asks for.
const LONGEST_ASKED: Duration = Duration::from_secs(600);

/// Hands over what waits, until `stop`; what is under way then is finished first. `seed` makes waits uneven.
pub async fn hand_over(
    ledger: Ledger,
    queue: TaskQueue,
    seed: u64,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let chance = StdRng::seed_from_u64(seed);
    let mut dispatcher = Dispatcher { ledger, queue, metrics, chance, logged: None, measured: None };
    while !stop.is_cancelled() {
        let found = dispatcher.turn().await;
        dispatcher.measure().await;
        if found < AT_ONCE as usize {
            let waker = dispatcher.ledger.db().waker().clone();
            let woken = timeout(POLL, waker.jobs_waiting(Queue::Finalization));
            stop.run_until_cancelled(woken).await;
        }
    }
}

struct Dispatcher {
    ledger: Ledger,
    queue: TaskQueue,
    metrics: Metrics,
    chance: StdRng,
    /// When a refusal was last logged.
    logged: Option<Instant>,
    /// When the oldest dispatch was last looked for.
    measured: Option<Instant>,
}

impl Dispatcher {
    /// Hands over at most 16 dispatches at once; returns how many there were.
    async fn turn(&mut self) -> usize {
        let claimed = match self.ledger.db().in_time(self.ledger.outbox().claim_hand_overs(AT_ONCE)).await {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(%error, "dispatches for the task queue could not be read");
                return 0;
            }
        };
        let created = join_all(claimed.iter().map(|hand_over| self.queue.create(hand_over))).await;
        let (mut handed, mut failed) = (Vec::new(), Vec::new());
        let found = claimed.len();
        for (hand_over, created) in claimed.into_iter().zip(created) {
            match created {
                Created::Taken { exists } => {
                    self.metrics.created(if exists { "exists" } else { "created" });
                    handed.push(hand_over);
                }
                Created::Later { outcome, wait } => {
                    self.metrics.created(outcome);
                    self.log(outcome, None);
                    let wait = self.wait(hand_over.tries, wait);
                    failed.push((hand_over, wait));
                }
                Created::Refused { outcome, status } => {
                    self.metrics.created(outcome);
                    self.log(outcome, Some(status));
                    failed.push((hand_over, LONGEST_WAIT));
                }
            }
        }
        // A task queue that refuses or is slow is left alone for a moment, however many dispatches wait for it.
        let rests = !failed.is_empty();
        self.store(&handed, &failed).await;
        if rests { 0 } else { found }
    }

    /// Where the database does not answer, the same tasks are created again later, under the same names.
    async fn store(&self, handed: &[HandOver], failed: &[(HandOver, Duration)]) {
        for stored in [
            self.ledger.db().in_time(self.ledger.outbox().handed_over(handed)).await,
            self.ledger.db().in_time(self.ledger.outbox().hand_over_failed(failed)).await,
        ] {
            if let Err(error) = stored {
                tracing::warn!(%error, "what became of tasks could not be stored; they are handed over again");
            }
        }
    }

    /// After a failure that may pass: 1, 2, 4 … 60 s with a fifth added or taken away, or what the queue asks for, if that is longer.
    fn wait(&mut self, tries: u32, asked: Option<Duration>) -> Duration {
        let doubled = Duration::from_secs(1 << tries.saturating_sub(1).min(6)).min(LONGEST_WAIT);
        let spread = doubled * self.chance.random_range(800..=1_200) / 1_000;
        asked.map_or(spread, |asked| asked.min(LONGEST_ASKED).max(spread))
    }

    /// Once a minute: what is in the way, and which setting or permission changes it.
    fn log(&mut self, outcome: &'static str, status: Option<u16>) {
        if self.logged.is_some_and(|logged| logged.elapsed() < LOG) {
            return;
        }
        self.logged = Some(Instant::now());
        let queue = &self.queue.settings().queue;
        match status {
            None => {
                tracing::warn!(outcome, %queue, "the task queue takes no tasks; they are handed over later")
            }
            Some(status) => {
                let remedy = remedy(status);
                tracing::error!(outcome, status, %queue, remedy, "the task queue refuses tasks; they are handed over later");
            }
        }
    }

    async fn measure(&mut self) {
        if self.measured.is_some_and(|measured| measured.elapsed() < MEASURE) {
            return;
        }
        self.measured = Some(Instant::now());
        let db = self.ledger.db();
        match db.in_time(self.ledger.outbox().oldest_unhanded()).await {
            Ok(oldest) => self.metrics.oldest_unhanded(db.shard().number, oldest.seconds),
            Err(error) => tracing::warn!(%error, "the oldest dispatch that waits could not be read"),
        }
    }
}

/// What to change where the queue refuses tasks.
pub(crate) fn remedy(status: u16) -> &'static str {
    match status {
        401 => "check the credentials of this process (LISTEN_FINALIZATION_TASKS_CREDENTIALS)",
        403 => {
            "grant this process roles/cloudtasks.enqueuer on the queue, and roles/iam.serviceAccountUser \
             (iam.serviceAccounts.actAs) on LISTEN_FINALIZATION_TASKS_INVOKER_SA"
        }
        404 => "create the queue that LISTEN_FINALIZATION_TASKS_QUEUE names",
        _ => {
            "check LISTEN_FINALIZATION_TASKS_HANDLER_URL, LISTEN_FINALIZATION_TASKS_INVOKER_SA and \
             LISTEN_FINALIZATION_TASKS_QUEUE; `listen doctor` asks the queue"
        }
    }
}
