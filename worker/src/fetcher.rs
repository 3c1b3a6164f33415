//! The fetcher of one queue: claims as many due jobs as there are free slots, never more.

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use apalis_core::worker::context::WorkerContext;
use job::{Queue, WorkerId};
use ledger::{Answer, ClaimRequest, JobClaims, StoredJob, Transition};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};

use crate::{
    retry::BackOff,
    run_slots::{Running, Slot, most_of_one_user},
    shared::Shared,
};

/// How often the queue is read without a wake-up: polling is the truth, a wake-up only saves time.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How many claims may be in flight. A second one starts beside the first when no fewer slots are free for it: it finds
/// its jobs while those of the first are committed.
const CLAIMS_IN_FLIGHT: usize = 2;

/// What came of a claim, with the slots that it was for.
type Done = (Result<JobClaims, db::Error>, OwnedSemaphorePermit);

/// What a fetcher does after a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// More may be due.
    Claim,
    /// Nothing more is due.
    Sleep,
    /// What is due is of users who run as many jobs as they may.
    SleepUntilFreed,
    /// The database did not answer.
    BackOff,
}

/// A claimed job with the slot that it occupies until it is dropped.
pub(crate) struct Assignment {
    /// The job, leased by this process.
    pub(crate) claimed: StoredJob,
    pub(crate) slot: Slot,
}

/// Claims the jobs of one queue.
#[derive(Clone)]
pub(crate) struct Fetcher {
    pub(crate) shared: Shared,
    pub(crate) queue: Queue,
    pub(crate) worker: WorkerId,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) running: Running,
}

impl Fetcher {
    /// Claims and hands over until the worker is stopped.
    pub(crate) async fn run(self, context: WorkerContext, jobs: mpsc::UnboundedSender<Assignment>) {
        let mut back_off = BackOff::new(&self.shared.chance);
        let mut claims: JoinSet<Done> = JoinSet::new();
        // The slots that those claims are for.
        let mut asked_for = 0;
        let mut next = Next::Claim;
        loop {
            // The last claim in flight decides: no rest while another one may bring jobs.
            if claims.is_empty() {
                self.rest(std::mem::replace(&mut next, Next::Claim), &mut back_off).await;
            }
            tokio::select! {
                biased;
                Some(done) = claims.join_next() => {
                    let (claimed, free) = match done {
                        Ok(done) => done,
                        Err(broken) => {
                            self.land(claims, &context, &jobs).await;
                            return broken.try_into_panic().map_or((), |panic| resume_unwind(panic));
                        }
                    };
                    asked_for -= free.num_permits();
                    next = self.landed(claimed, free, &context, &jobs).await;
                    if next != Next::BackOff {
                        back_off.reset();
                    }
                }
                free = self.free_slots(asked_for.max(1)), if claims.len() < CLAIMS_IN_FLIGHT && next == Next::Claim => {
                    match free {
                        Some(free) if !self.is_stopping(&context) && !jobs.is_closed() => {
                            let in_flight = asked_for;
                            asked_for += free.num_permits();
                            claims.spawn(self.clone().claim(free, in_flight));
                        }
                        // Stopped; or the worker ended by itself, and has dropped the other end.
                        _ => break,
                    }
                }
            }
        }
        self.land(claims, &context, &jobs).await;
    }

    /// Waits for the claims that are still in flight; a worker that stops releases what they bring.
    async fn land(
        &self,
        mut claims: JoinSet<Done>,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) {
        while let Some(done) = claims.join_next().await {
            if let Ok((claimed, free)) = done {
                self.landed(claimed, free, context, jobs).await;
            }
        }
    }

    /// Hands over what a claim brought.
    async fn landed(
        &self,
        claims: Result<JobClaims, db::Error>,
        free: OwnedSemaphorePermit,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) -> Next {
        match claims {
            Ok(JobClaims { claims, deferred, held_back }) => {
                let is_full = claims.len() == free.num_permits();
                self.hand_over(claims, free, context, jobs).await;
                match is_full || deferred > 0 {
                    true => Next::Claim,
                    false if held_back => Next::SleepUntilFreed,
                    false => Next::Sleep,
                }
            }
            Err(error) => {
                tracing::warn!(%error, queue = %self.queue, "jobs could not be claimed");
                Next::BackOff
            }
        }
    }

    async fn rest(&self, next: Next, back_off: &mut BackOff) {
        match next {
            Next::Claim => {}
            Next::Sleep => {
                let wake_up = self.shared.ledger.db().waker().jobs_waiting(self.queue);
                self.unless_stopped(tokio::time::timeout(POLL_INTERVAL, wake_up)).await;
            }
            Next::SleepUntilFreed => {
                let wake_up = self.shared.ledger.db().waker().jobs_waiting(self.queue);
                let either = async {
                    tokio::select! { _ = wake_up => {}, () = self.running.freed.notified() => {} }
                };
                self.unless_stopped(tokio::time::timeout(POLL_INTERVAL, either)).await;
            }
            Next::BackOff => drop(self.unless_stopped(tokio::time::sleep(back_off.wait())).await),
        }
    }

    /// Releases a job that was not started; it costs nothing (DESIGN §3, `Release`).
    pub(crate) async fn release(&self, claimed: &StoredJob) {
        let token = claimed.lease_token();
        let transition = Transition::Release { delay: chrono::Duration::zero() };
        let ledger = &self.shared.ledger;
        let answer = self.shared.with_retries(|| ledger.settle(&token, transition, None)).await;
        tracing::info!(job_id = %token.job_id, epoch = %token.epoch, granted = matches!(answer, Ok(Answer::Granted { .. })), "released unstarted");
    }

    /// `in_flight`: the slots of a claim that has not answered yet. All of them may become one user's, so they come off what
    /// each user may have: other users' jobs are then looked for first.
    async fn claim(self, free: OwnedSemaphorePermit, in_flight: usize) -> Done {
        let concurrency = self.shared.settings.concurrency(self.queue);
        let (running, share) = self.running.shares(concurrency);
        let in_flight = u32::try_from(in_flight).unwrap_or(u32::MAX);
        let share = share.saturating_sub(in_flight);
        let request = ClaimRequest {
            queue: self.queue,
            worker: self.worker.clone(),
            slots: u32::try_from(free.num_permits()).unwrap_or(u32::MAX),
            share,
            most: most_of_one_user(concurrency, in_flight),
            running,
        };
        let claims = self.shared.ledger.claim(&request).await;
        if let Ok(claims) = &claims {
            self.shared.metrics.count_claims(claims);
        }
        (claims, free)
    }

    /// Waits for `least` free slots and gathers all that are free by then; `None` when the fetcher is to stop.
    async fn free_slots(&self, least: usize) -> Option<OwnedSemaphorePermit> {
        // Other shards' fetchers take the same slots: none is taken before a job is due, and none while the database does
        // not answer.
        if self.shared.settings.shared_slots.is_some() {
            self.unless_stopped(self.until_due()).await?;
        }
        // In a backlog, runs that have just ended get to free their slots first.
        tokio::task::yield_now().await;
        let least = u32::try_from(least).unwrap_or(u32::MAX);
        let first = self.unless_stopped(Arc::clone(&self.slots).acquire_many_owned(least)).await?;
        let mut free = first.ok()?;
        let more = u32::try_from(self.slots.available_permits()).unwrap_or(u32::MAX);
        if let Ok(more) = Arc::clone(&self.slots).try_acquire_many_owned(more) {
            free.merge(more);
        }
        Some(free)
    }

    /// Waits until a job could be claimed.
    async fn until_due(&self) {
        let mut back_off = BackOff::new(&self.shared.chance);
        loop {
            match self.shared.ledger.db().in_time(self.shared.ledger.is_job_due(self.queue)).await {
                Ok(true) => return,
                Ok(false) => {
                    back_off.reset();
                    let wake_up = self.shared.ledger.db().waker().jobs_waiting(self.queue);
                    let _ = tokio::time::timeout(POLL_INTERVAL, wake_up).await;
                }
                Err(error) => {
                    tracing::warn!(%error, queue = %self.queue, "jobs could not be looked for");
                    tokio::time::sleep(back_off.wait()).await;
                }
            }
        }
    }

    /// One slot travels with each job; the others are free again. A worker that was stopped meanwhile starts nothing.
    async fn hand_over(
        &self,
        claims: Vec<StoredJob>,
        mut free: OwnedSemaphorePermit,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) {
        for claimed in claims {
            let slot = match free.split(1) {
                Some(permit) if !self.is_stopping(context) => self.running.occupy(permit, &claimed.user_id),
                _ => {
                    self.release(&claimed).await;
                    continue;
                }
            };
            if let Err(unsent) = jobs.send(Assignment { claimed, slot }) {
                self.release(&unsent.0.claimed).await;
            }
        }
    }

    fn is_stopping(&self, context: &WorkerContext) -> bool {
        self.shared.is_stopping() || context.is_shutting_down()
    }

    async fn unless_stopped<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.shared.soft.cancelled() => None,
            () = self.shared.hard.cancelled() => None,
            done = wait => Some(done),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use ledger::Ledger;
    use prometheus::Registry;
    use sqlx::postgres::PgConnectOptions;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::settings::Settings;

    /// Nothing here takes this long; what does has hung.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A fetcher of one slot whose database is at `options`.
    fn fetcher(options: PgConnectOptions) -> Fetcher {
        let settings = Settings { creation_concurrency: 1, ..Settings::default() };
        let ledger = Ledger::new(options, ledger::Settings::default());
        Fetcher {
            slots: settings.slots().of(Queue::Creation),
            shared: Shared::of(ledger, &Registry::new(), settings),
            queue: Queue::Creation,
            worker: WorkerId("w".to_owned()),
            running: Running::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn fetcher_without_a_worker_claims_nothing_more() {
        // There is no database to ask.
        let fetcher = fetcher(PgConnectOptions::new_without_pgpass());
        let (send, jobs) = mpsc::unbounded_channel();
        drop(jobs);
        let ended = tokio::time::timeout(Duration::from_secs(1), fetcher.run(WorkerContext::new("w"), send));
        ended.await.unwrap();
    }

    #[tokio::test]
    async fn fetcher_backs_off_while_the_database_disconnects() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let fetcher = fetcher(
            PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(address.port()).username("w"),
        );
        let (soft, (send, _jobs)) = (fetcher.shared.soft.clone(), mpsc::unbounded_channel());
        let began = Instant::now();
        let running = tokio::spawn(fetcher.run(WorkerContext::new("w"), send));
        for _ in 0..5 {
            tokio::time::timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
        }
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(1), "five claims in {took:?}");
        soft.cancel();
        tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap();
    }
}
