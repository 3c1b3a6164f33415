//! One run: a claimed job's material, its stages with their checkpoints, and how it is settled in the end.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use compute::on_behalf_of;
use futures::{FutureExt, future::BoxFuture};
use job::{Cause, CheckpointKey, FailureCode, Outcome, Refusal};
use ledger::{Answer, Completion, Finished, LeaseToken, Results, StoredJob, Transition};
use parking_lot::Mutex;
use serde_json::Value;
use stages::{CheckpointStore, Engines, Failure, Finalized, Interrupted, Photo, Run, Stages};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::Instrument;

use crate::leases::{HeldLease, LeaseStatus};
use crate::material::{material, results};
use crate::observer::Ended;
use crate::reporter::RunReporter;
use crate::retry::Unanswered;
use crate::run_slots::Slot;
use crate::shared::Shared;
use crate::spending::{Account, counted};
use crate::traces;

/// Runs claimed jobs, one call per job. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) shared: Shared,
    engines: Engines,
    stages: Arc<Stages>,
    /// Places of runs that have nothing but their commit left to do.
    finishing: Arc<Semaphore>,
}

/// The shortest wait of a job that is given back because a circuit is open.
const LEAST_WAIT: Duration = Duration::from_secs(1);

impl Runner {
    /// Of its runs, so many give up their slots before their commit.
    pub(crate) fn new(shared: Shared, engines: Engines, finishing: usize) -> Self {
        Self {
            shared,
            stages: Arc::new(Stages::new(engines.clone())),
            engines,
            finishing: Arc::new(Semaphore::new(finishing)),
        }
    }

    /// Runs `claimed` to its end, whatever that is: a panic of its work is a failed attempt. It occupies `slot` until nothing
    /// but its commit is left to do.
    pub(crate) async fn run(self, claimed: StoredJob, slot: Slot) -> Ended {
        let span = tracing::info_span!(
            "run",
            job_id = %claimed.job.id,
            conversation_id = %claimed.conversation_id,
            generation = claimed.job.generation.0,
            epoch = claimed.job.epoch.0,
        );
        let traced = traces::run(&claimed);
        let end = self.watched(claimed, slot).instrument(span).instrument(traced.clone()).await;
        traces::ended(&traced, end);
        end
    }

    async fn watched(self, claimed: StoredJob, slot: Slot) -> Ended {
        let began = Instant::now();
        let held = self.shared.leases.hold(claimed.lease_token());
        let reporter = RunReporter::new(claimed, &self.shared);
        reporter.run_started();
        let user = reporter.claimed.user_id.as_str();
        let work = on_behalf_of(user, self.guarded(&reporter, &held, slot));
        let work = counted(Arc::clone(&reporter.account), work);
        let end = match work.await {
            Ok(()) => Ended::Completed,
            Err(interrupted) => self.settle(&held, &reporter, interrupted).await,
        };
        if end == Ended::Lost && !self.shared.hard.is_cancelled() {
            self.prove_alive(&held).await;
        }
        reporter.run_ended(end, began.elapsed());
        end
    }

    /// The work, until it is done, or the heartbeat, the run limit or a hard stop ends it. The limit ends no commit: it
    /// may have landed, and the run would be reported as what it is not.
    async fn guarded(&self, reporter: &RunReporter, held: &HeldLease, slot: Slot) -> Result<(), Interrupted> {
        let limit = self.shared.ledger.policy().run_limit.to_std().unwrap_or(Duration::MAX);
        let commits = AtomicBool::new(false);
        // On the heap: the stages are large, and each layer around them would hold them once more.
        let slot = Mutex::new(Some(slot));
        let work = AssertUnwindSafe(Box::pin(self.work(reporter, held, &slot, &commits))).catch_unwind();
        tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|_| {
                tracing::error!("the run panicked");
                Err(FailureCode::Internal.into())
            }),
            () = self.shared.hard.cancelled() => Err(Interrupted::LeaseLost),
            () = held.until(LeaseStatus::Lost) => Err(Interrupted::LeaseLost),
            () = overdue(held, limit, &commits) => Err(FailureCode::RunTimeout.into()),
            never = self.leave_slot_in_outage(held, &slot) => match never {},
        }
    }

    /// Where shards share the slots of a process, a run whose shard does not answer leaves its slot to the others; it goes on
    /// without one when its shard is back.
    async fn leave_slot_in_outage(&self, held: &HeldLease, slot: &Mutex<Option<Slot>>) -> Infallible {
        if !self.shared.ledger.db().shard().is_only() {
            held.until(LeaseStatus::Unanswered).await;
            drop(taken(slot));
        }
        std::future::pending().await
    }

    async fn work(
        &self,
        reporter: &RunReporter,
        held: &HeldLease,
        slot: &Mutex<Option<Slot>>,
        commits: &AtomicBool,
    ) -> Result<(), Interrupted> {
        let claimed = &reporter.claimed;
        if claimed.job.hurried {
            self.engines.ask_again();
        }
        let input = self.shared.with_retries(|| self.shared.ledger.run_input(claimed)).await?;
        let input = input.ok_or(FailureCode::ConversationMissing)?;
        let material = material(input, self.photos(claimed).await?);
        let checkpoints = Checkpoints {
            shared: self.shared.clone(),
            token: held.lease_token().clone(),
            account: Arc::clone(&reporter.account),
            engines: self.engines.clone(),
        };
        let run = Run::new(&checkpoints, reporter, &material.talk);
        let finalized = tokio::select! {
            biased;
            finalized = stages::finalize(&run, &self.stages, &material, claimed.job.force_process) => finalized?,
            () = self.grace_period_is_over() => return Err(Interrupted::Stopping),
        };
        let outcome = match finalized {
            Finalized::Discarded => Outcome::Discarded,
            Finalized::Kept(_) => Outcome::Kept,
        };
        // The slot is free for the next run while this one's commit gathers with others. It is traded for a place among
        // those that finish; where these are all taken, the database is behind, and the slot is kept.
        let _place = match Arc::clone(&self.finishing).try_acquire_owned() {
            Ok(place) => {
                drop(taken(slot));
                Some(place)
            }
            Err(_) => None,
        };
        let results = Results { stages: reporter.stages(), ..results(finalized, &self.engines) };
        commits.store(true, Ordering::Relaxed);
        self.complete(claimed, outcome, results).instrument(traces::completion(outcome)).await
    }

    /// The pictures that are to be described; none where the engine sees none.
    async fn photos(&self, claimed: &StoredJob) -> Result<Vec<Photo>, Interrupted> {
        if !self.engines.describe.sees() {
            return Ok(Vec::new());
        }
        let (user, conversation) = (&claimed.user_id, &claimed.conversation_id);
        let ledger = &self.shared.ledger;
        let read = self.shared.with_retries(|| ledger.store().undescribed_photos(user, conversation));
        let photos = read.await?;
        Ok(photos.into_iter().map(|(id, base64)| Photo { id, base64 }).collect())
    }

    async fn grace_period_is_over(&self) {
        self.shared.soft.cancelled().await;
        tokio::time::sleep(self.shared.settings.grace_period).await;
    }

    async fn complete(
        &self,
        claimed: &StoredJob,
        outcome: Outcome,
        results: Results,
    ) -> Result<(), Interrupted> {
        let same = Arc::clone(&self.engines.same);
        let completion = Arc::new(Completion { claimed: traces::going_on(claimed), outcome, results, same });
        match self.shared.with_retries(|| self.shared.ledger.complete(&completion)).await? {
            Finished::Completed { items, memories, deliveries } => {
                tracing::info!(outcome = outcome.as_str(), items, memories, deliveries, "committed");
                Ok(())
            }
            Finished::Already => {
                tracing::info!(outcome = outcome.as_str(), "committed before; the answer was lost");
                Ok(())
            }
            Finished::Refused(_) => Err(Interrupted::LeaseLost),
        }
    }

    /// Writes what the run spent on answers of which it recorded nothing: a refused answer was paid for, too. Asked
    /// once, because how the run ended matters more; what is not written then stands in the log alone.
    async fn settle_account(&self, held: &HeldLease, account: &Account) {
        if !account.owes() {
            return;
        }
        let (ledger, due) = (&self.shared.ledger, account.statement(&self.engines));
        if ledger.db().in_time(ledger.spend(held.lease_token(), &due.spent)).await.is_err() {
            tracing::warn!("what the run spent could not be written");
        }
    }

    /// The lease is lost while this process lives: the crash that was counted for it is taken back.
    async fn prove_alive(&self, held: &HeldLease) {
        let ledger = &self.shared.ledger;
        if let Err(error) = ledger.db().in_time(ledger.prove_alive(held.lease_token())).await {
            tracing::info!(%error, "the crash that was counted for a lost lease could not be taken back");
        }
    }

    /// Tells the ledger how the run ended; the answer, not the wish, is what is reported.
    async fn settle(&self, held: &HeldLease, reporter: &RunReporter, interrupted: Interrupted) -> Ended {
        let (mut transition, cause) = match interrupted {
            // No task waits for an answer any more.
            _ if self.shared.hard.is_cancelled() => return Ended::Lost,
            Interrupted::LeaseLost => return Ended::Lost,
            Interrupted::Stopping => (Transition::Release { delay: chrono::Duration::zero() }, None),
            Interrupted::Failed(failure) if failure.code == FailureCode::ByokKeyRejected => {
                (Transition::Park, None)
            }
            // A model server's circuit is open: the job goes back and is due again later.
            Interrupted::Failed(failure) if failure.circuit_open => {
                let wait = failure.retry_after.unwrap_or(LEAST_WAIT).max(LEAST_WAIT);
                // Spread, so that what was given back together does not come back together.
                let delay = chrono_of(self.shared.chance.around(wait));
                (Transition::Release { delay }, Some(reporter.cause(failure)))
            }
            Interrupted::Failed(failure) => (self.failed(failure), Some(reporter.cause(failure))),
        };
        self.settle_account(held, &reporter.account).await;
        let mut answer = self.say(held, transition, cause.as_ref()).await;
        if let (Ok(Answer::Refused(Refusal::TooLate)), Interrupted::Failed(failure)) = (&answer, interrupted)
        {
            // The circuit has been open for a day: from now on it costs an attempt like any other failure.
            transition = self.failed(failure);
            answer = self.say(held, transition, cause.as_ref()).await;
        }
        match answer {
            Ok(Answer::Granted { job, retry, dead_letter }) => {
                self.shared.metrics.count_transition(retry, dead_letter);
                let ready_at = job.state.ready_at();
                let std_of = |wait: chrono::Duration| wait.to_std().unwrap_or_default();
                match transition {
                    Transition::Release { delay } => Ended::Released { delay: std_of(delay), ready_at },
                    Transition::Fail { code, retry_after, .. } => {
                        Ended::Failed { code, retry_after: retry_after.map(std_of), dead_letter, ready_at }
                    }
                    Transition::Park => Ended::Parked,
                }
            }
            Ok(Answer::Refused(refusal)) => {
                tracing::info!(?refusal, "the ledger refused the run's end");
                Ended::Lost
            }
            Ok(Answer::Missing) | Err(_) => Ended::Lost,
        }
    }

    /// An attempt is spent.
    fn failed(&self, failure: Failure) -> Transition {
        Transition::Fail {
            code: failure.code,
            retry_after: failure.retry_after.map(chrono_of),
            jitter_permille: self.shared.chance.permille(200),
        }
    }

    /// Repeats it until it is answered, or another run is known to have the job. What ended the lease may
    /// be this very end, whose answer is still on its way: the ledger is asked once more.
    async fn say(
        &self,
        held: &HeldLease,
        transition: Transition,
        cause: Option<&Cause>,
    ) -> Result<Answer, Unanswered> {
        let ledger = &self.shared.ledger;
        let settle = || ledger.db().in_time(ledger.settle(held.lease_token(), transition, cause));
        tokio::select! {
            biased;
            answer = self.shared.with_retries(settle) => answer,
            () = held.until(LeaseStatus::Lost) => Ok(settle().await.unwrap_or(Answer::Refused(Refusal::LeaseLost))),
        }
    }
}

/// The checkpoints of one run, kept in the ledger under the fence of its lease.
struct Checkpoints {
    shared: Shared,
    token: LeaseToken,
    /// What the run spends is written with what it records.
    account: Arc<Account>,
    engines: Engines,
}

impl CheckpointStore for Checkpoints {
    fn recall<'a>(&'a self, key: &'a CheckpointKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>> {
        Box::pin(async move {
            let ledger = &self.shared.ledger;
            Ok(self.shared.with_retries(|| ledger.recall(&self.token, key)).await?)
        })
    }

    fn record<'a>(
        &'a self,
        key: &'a CheckpointKey,
        output: Value,
        replaces: bool,
    ) -> BoxFuture<'a, Result<(), Interrupted>> {
        Box::pin(async move {
            let (ledger, due) = (&self.shared.ledger, self.account.statement(&self.engines));
            let is_ours = self
                .shared
                .with_retries(|| ledger.record(&self.token, key, &output, replaces, &due.spent))
                .await?;
            if !is_ours {
                return Err(Interrupted::LeaseLost);
            }
            self.account.saved(&due);
            Ok(())
        })
    }

    fn should_stop(&self) -> bool {
        self.shared.is_stopping()
    }
}

impl From<Unanswered> for Interrupted {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Stopped => Self::Stopping,
            Unanswered::Broken => FailureCode::Internal.into(),
        }
    }
}

fn taken(slot: &Mutex<Option<Slot>>) -> Option<Slot> {
    slot.lock().take()
}

/// Waits until the run limit is over, by the database's clock or, when it does not answer, by ours; for ever, when the run
/// commits by then.
async fn overdue(held: &HeldLease, limit: Duration, commits: &AtomicBool) {
    tokio::select! {
        () = held.until(LeaseStatus::RunLimit) => {}
        () = tokio::time::sleep(limit) => {}
    }
    if commits.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

/// Waits are bounded long before this conversion could fail.
fn chrono_of(wait: Duration) -> chrono::Duration {
    chrono::Duration::from_std(wait).unwrap_or_default()
}
