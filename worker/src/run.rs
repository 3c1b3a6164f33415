//! One run: a claimed job's material, its stages, and how it is settled in the end.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use compute::on_behalf_of;
use futures::FutureExt;
use job::{Cause, FailureCode, Outcome, Refusal, State, Timestamp};
use ledger::{Answer, Claimed, Completion, Edge, Finished, Ledger, Results, RunEnd, Same};
use stages::{Engines, Failure, Finalized, Interrupted, Run, Stages};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::answered::{Unanswered, until_answered};
use crate::chance::Chance;
use crate::checkpoints::Checkpoints;
use crate::fetcher::Slot;
use crate::heartbeat::{Fate, Held, Holdings};
use crate::material::{material, results};
use crate::metrics::Metrics;
use crate::spending::{Account, counted};
use crate::traces;
use crate::watch::{Ended, Watch, Witness};

/// Runs claimed jobs, one call per job. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) ledger: Ledger,
    pub(crate) engines: Engines,
    /// How completion compares new things with what is kept.
    pub(crate) same: Same,
    pub(crate) stages: Arc<Stages>,
    pub(crate) holdings: Holdings,
    /// Places of runs that have nothing but their commit left to do.
    pub(crate) finishing: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    pub(crate) watch: Arc<dyn Watch>,
    pub(crate) pause: Option<(String, Duration)>,
    pub(crate) chance: Chance,
    pub(crate) farewell: Duration,
    pub(crate) soft: CancellationToken,
    pub(crate) hard: CancellationToken,
}

/// The shortest wait of a job that is given back because a circuit is open.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// What is to be said of a run that did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    /// Nothing: the fence refused, or no task waits any more.
    Silent,
    /// The process is being stopped.
    Stopping,
    /// The user's key was refused.
    KeyRefused,
    /// A model server's circuit is open: the job goes back and is due again later.
    Waiting(Failure),
    /// An attempt is spent.
    Failed(Failure),
}

/// How a run ended, and how long a task with the job's keys has to wait: a job that requires keys is parked, and
/// its row names no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) ended: Ended,
    /// The delay with which it was released, or what the provider asked for when it failed.
    pub(crate) wait: Option<Duration>,
    /// The job is a dead letter: keys can do nothing for it any more.
    pub(crate) buried: bool,
    /// From when on the job is queued again, if it is.
    pub(crate) ready_at: Option<Timestamp>,
}

impl From<Ended> for End {
    fn from(ended: Ended) -> Self {
        Self { ended, wait: None, buried: false, ready_at: None }
    }
}

impl Unfinished {
    fn failed(code: FailureCode) -> Self {
        Self::Failed(code.into())
    }

    /// What lies behind it, for operators.
    fn cause(self, witness: &Witness) -> Option<Cause> {
        let (Self::Waiting(failure) | Self::Failed(failure)) = self else { return None };
        let Failure { code, circuit_open, class, http_status, .. } = failure;
        let stage = witness.failed_stage(code).map(str::to_owned);
        Some(Cause { code, stage, class, http_status, circuit_open })
    }
}

/// An id for one claim of one dispatch, never repeated.
pub(crate) fn dispatch_id(claimed: &Claimed) -> String {
    format!("{}/{}/{}", claimed.job.id, claimed.job.generation, claimed.job.epoch)
}

impl Runner {
    /// Runs `claimed` to its end, whatever that is: a panic of its work is a failed attempt. It occupies `slot` until nothing
    /// but its commit is left to do.
    pub(crate) async fn run(self, claimed: Claimed, slot: Slot) -> End {
        let span = tracing::info_span!(
            "run",
            job_id = %claimed.job.id,
            conversation_id = %claimed.conversation_id,
            generation = claimed.job.generation.0,
            epoch = claimed.job.epoch.0,
        );
        let traced = traces::run(&claimed);
        let end = self.watched(claimed, slot).instrument(span).instrument(traced.clone()).await;
        traces::ended(&traced, end.ended);
        end
    }

    async fn watched(self, claimed: Claimed, slot: Slot) -> End {
        let began = Instant::now();
        let held = self.holdings.hold(claimed.holding());
        let witness = Witness {
            claimed,
            metrics: self.metrics.clone(),
            watch: Arc::clone(&self.watch),
            pause: self.pause.clone(),
            stages: Mutex::default(),
            failed: Mutex::default(),
            account: Arc::default(),
        };
        witness.run_started();
        let user = witness.claimed.user_id.as_str();
        let work = on_behalf_of(user, self.guarded(&witness, &held, slot));
        let work = counted(Arc::clone(&witness.account), work);
        let end = match work.await {
            Ok(()) => Ended::Completed.into(),
            Err(unfinished) => {
                self.settle_account(&held, &witness.account, unfinished).await;
                self.settle(&held, &witness, unfinished).await
            }
        };
        if end.ended == Ended::Lost && !self.hard.is_cancelled() {
            self.prove_alive(&held).await;
        }
        witness.run_ended(end.ended, began.elapsed());
        end
    }

    /// The work, until it is done, or the heartbeat, the run limit or a hard stop ends it. The limit ends no commit: it
    /// may have landed, and the run would be reported as what it is not.
    async fn guarded(&self, observer: &Witness, held: &Held, slot: Slot) -> Result<(), Unfinished> {
        let limit = self.ledger.policy().run_limit.to_std().unwrap_or(Duration::MAX);
        let commits = AtomicBool::new(false);
        // On the heap: the stages are large, and each layer around them would hold them once more.
        let work = AssertUnwindSafe(Box::pin(self.work(observer, held, slot, &commits))).catch_unwind();
        tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|_| {
                tracing::error!("the run panicked");
                Err(Unfinished::failed(FailureCode::Internal))
            }),
            () = self.hard.cancelled() => Err(Unfinished::Silent),
            () = held.told(Fate::Lost) => Err(Unfinished::Silent),
            () = overdue(held, limit, &commits) => Err(Unfinished::failed(FailureCode::RunTimeout)),
        }
    }

    async fn work(
        &self,
        witness: &Witness,
        held: &Held,
        slot: Slot,
        commits: &AtomicBool,
    ) -> Result<(), Unfinished> {
        let claimed = &witness.claimed;
        if claimed.job.hurried {
            self.engines.ask_again();
        }
        let input = self.until_answered(|| self.ledger.run_input(claimed)).await?;
        let material = material(input.ok_or(Unfinished::failed(FailureCode::ConversationMissing))?);
        let checkpoints = Checkpoints {
            ledger: self.ledger.clone(),
            holding: held.holding().clone(),
            account: Arc::clone(&witness.account),
            engines: self.engines.clone(),
            chance: self.chance.clone(),
            soft: self.soft.clone(),
            hard: self.hard.clone(),
        };
        let run = Run::new(&checkpoints, witness, &material.talk);
        let finalized = tokio::select! {
            biased;
            finalized = stages::finalize(&run, &self.stages, &material, claimed.job.force_process) => finalized?,
            () = self.farewell_is_over() => return Err(Unfinished::Stopping),
        };
        let outcome = match finalized {
            Finalized::Discarded => Outcome::Discarded,
            Finalized::Kept(_) => Outcome::Kept,
        };
        // The slot is free for the next run while this one's commit gathers with others. It is traded for a place among
        // those that finish; where these are all taken, the database is behind, and the slot is kept.
        let _place = match Arc::clone(&self.finishing).try_acquire_owned() {
            Ok(place) => {
                drop(slot);
                Slot::from(place)
            }
            Err(_) => slot,
        };
        let results = Results { stages: witness.stages(), ..results(finalized, &self.engines) };
        commits.store(true, Ordering::Relaxed);
        self.complete(claimed, outcome, results).instrument(traces::completion(outcome)).await
    }

    async fn farewell_is_over(&self) {
        self.soft.cancelled().await;
        tokio::time::sleep(self.farewell).await;
    }

    async fn complete(
        &self,
        claimed: &Claimed,
        outcome: Outcome,
        results: Results,
    ) -> Result<(), Unfinished> {
        let same = self.same.clone();
        let completion = Arc::new(Completion { claimed: traces::going_on(claimed), outcome, results, same });
        match self.until_answered(|| self.ledger.complete(&completion)).await? {
            Finished::Completed { items, memories, deliveries } => {
                tracing::info!(outcome = outcome.as_str(), items, memories, deliveries, "committed");
                Ok(())
            }
            Finished::Already => {
                tracing::info!(outcome = outcome.as_str(), "committed before; the answer was lost");
                Ok(())
            }
            Finished::Refused(_) => Err(Unfinished::Silent),
        }
    }

    /// Writes what the run spent on answers of which it recorded nothing: a refused answer was paid for, too. Asked
    /// once, because how the run ended matters more; what is not written then stands in the log alone.
    async fn settle_account(&self, held: &Held, account: &Account, unfinished: Unfinished) {
        if unfinished == Unfinished::Silent || !account.owes() {
            return;
        }
        let due = account.statement(&self.engines);
        if self.ledger.db().in_time(self.ledger.spend(held.holding(), &due.spent)).await.is_err() {
            tracing::warn!("what the run spent could not be written");
        }
    }

    /// The lease is lost while this process lives: the crash that was counted for it is taken back.
    async fn prove_alive(&self, held: &Held) {
        if let Err(error) = self.ledger.db().in_time(self.ledger.prove_alive(held.holding())).await {
            tracing::info!(%error, "the crash that was counted for a lost lease could not be taken back");
        }
    }

    /// Tells the ledger how the run ended; the answer, not the wish, is what is reported.
    async fn settle(&self, held: &Held, witness: &Witness, unfinished: Unfinished) -> End {
        let edge = match unfinished {
            Unfinished::Silent => return Ended::Lost.into(),
            Unfinished::Stopping => Edge::Release { delay: chrono::Duration::zero() },
            Unfinished::KeyRefused => Edge::Park,
            Unfinished::Waiting(failure) => {
                // Spread, so that what was given back together does not come back together.
                let wait = self.chance.around(failure.retry_after.unwrap_or(LEAST_WAIT).max(LEAST_WAIT));
                Edge::Release { delay: chrono_of(wait) }
            }
            Unfinished::Failed(failure) => self.fail(failure),
        };
        match self.say(held, RunEnd { edge, cause: unfinished.cause(witness) }).await {
            Ok(Answer::Refused(Refusal::TooLate)) => self.settle_too_late(held, witness, unfinished).await,
            Ok(Answer::Granted { retry, dead_letter, state }) => {
                self.metrics.count_edge(retry, dead_letter);
                let ready_at = match state {
                    State::Queued { ready_at } => Some(ready_at),
                    _ => None,
                };
                End { buried: dead_letter, ready_at, ..end(edge) }
            }
            Ok(Answer::Refused(refusal)) => {
                tracing::info!(?refusal, "the ledger refused the run's end");
                Ended::Lost.into()
            }
            Ok(Answer::Missing) | Err(_) => Ended::Lost.into(),
        }
    }

    /// The circuit has been open for a day: from now on it costs an attempt like any other failure.
    async fn settle_too_late(&self, held: &Held, witness: &Witness, unfinished: Unfinished) -> End {
        match unfinished {
            Unfinished::Waiting(failure) => {
                Box::pin(self.settle(held, witness, Unfinished::Failed(failure))).await
            }
            _ => Ended::Lost.into(),
        }
    }

    fn fail(&self, failure: Failure) -> Edge {
        Edge::Fail {
            code: failure.code,
            retry_after: failure.retry_after.map(chrono_of),
            jitter_permille: self.chance.permille(200),
        }
    }

    /// Repeats `end` until it is answered, or another run is known to have the job. What ended the lease may
    /// be this very end, whose answer is still on its way: the ledger is asked once more.
    async fn say(&self, held: &Held, end: RunEnd) -> Result<Answer, Unanswered> {
        let verb = || self.ledger.db().in_time(self.ledger.settle(held.holding(), end.clone()));
        tokio::select! {
            biased;
            answer = until_answered(&self.chance, &self.hard, verb) => answer,
            () = held.told(Fate::Lost) => Ok(verb().await.unwrap_or(Answer::Refused(Refusal::LeaseLost))),
        }
    }

    async fn until_answered<T, F>(&self, verb: impl FnMut() -> F) -> Result<T, Unfinished>
    where
        F: Future<Output = Result<T, db::Error>>,
    {
        until_answered(&self.chance, &self.hard, verb).await.map_err(|unanswered| match unanswered {
            Unanswered::Stopped => Unfinished::Silent,
            Unanswered::Broken => Unfinished::failed(FailureCode::Internal),
        })
    }
}

/// Waits until the run limit is over, by the database's clock or, when it does not answer, by ours; for ever, when the run
/// commits by then.
async fn overdue(held: &Held, limit: Duration, commits: &AtomicBool) {
    tokio::select! {
        () = held.told(Fate::RunLimit) => {}
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

fn end(edge: Edge) -> End {
    match edge {
        Edge::Release { delay } => {
            let wait = delay.to_std().ok().filter(|wait| !wait.is_zero());
            End { wait, ..Ended::Released.into() }
        }
        Edge::Fail { code, retry_after, .. } => {
            End { wait: retry_after.and_then(|asked| asked.to_std().ok()), ..Ended::Failed(code).into() }
        }
        Edge::Park => Ended::Parked.into(),
    }
}

impl From<Interrupted> for Unfinished {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::LeaseLost => Self::Silent,
            Interrupted::Stopping => Self::Stopping,
            Interrupted::Failed(Failure { code: FailureCode::ByokKeyRejected, .. }) => Self::KeyRefused,
            Interrupted::Failed(failure) if failure.circuit_open => Self::Waiting(failure),
            Interrupted::Failed(failure) => Self::Failed(failure),
        }
    }
}
