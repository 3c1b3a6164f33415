//! The fetcher of one queue: claims as many due jobs as there are free slots, never more.

use std::{
    collections::HashMap,
    panic::resume_unwind,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use apalis_core::worker::context::WorkerContext;
use job::{Queue, WorkerId};
use ledger::{Answer, ClaimRequest, Claimed, JobClaims, Ledger, Transition};
use records::UserId;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    chance::Chance,
    metrics::Metrics,
    retry::{BackOff, with_retries},
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
    pub(crate) claimed: Claimed,
    pub(crate) slot: Slot,
}

/// A slot that a run occupies; of a queue's slot it is counted whose job runs there.
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    counted: Option<(Running, UserId)>,
}

impl From<OwnedSemaphorePermit> for Slot {
    fn from(permit: OwnedSemaphorePermit) -> Self {
        Self { _permit: permit, counted: None }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((running, user)) = &self.counted {
            running.remove(user);
        }
    }
}

/// How many jobs of each user run in one queue, so that one user's jobs leave slots to the others. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Running {
    counts: Arc<Mutex<Counts>>,
    /// A job has ended.
    freed: Arc<Notify>,
}

#[derive(Default)]
struct Counts {
    users: HashMap<UserId, u32>,
    /// The user whose job was claimed last.
    last: Option<UserId>,
}

impl Running {
    fn add(&self, user: &UserId) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.users.entry(user.clone()).or_default() += 1;
        counts.last = Some(user.clone());
    }

    fn remove(&self, user: &UserId) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = counts.users.get_mut(user) {
            *jobs -= 1;
            if *jobs == 0 {
                counts.users.remove(user);
            }
        }
        self.freed.notify_one();
    }

    /// How many jobs of each user fill their share of `slots` slots, and that share: half of them. A single slot goes to
    /// another user than the last one.
    fn shares(&self, slots: usize) -> (HashMap<UserId, u32>, u32) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut users = counts.users.clone();
        if slots == 1
            && let Some(last) = &counts.last
        {
            users.insert(last.clone(), 1);
        }
        (users, u32::try_from(slots / 2).unwrap_or(u32::MAX).max(1))
    }
}

/// How many of so many slots one user may have, without those of a claim in flight: one is left for users who have none, so
/// that long runs of one user never make all others wait. With one or two slots no slot can be spared, and there is no limit.
fn most_of_one_user(slots: usize, in_flight: u32) -> u32 {
    match u32::try_from(slots) {
        Ok(slots) if slots > 2 => (slots - 1).saturating_sub(in_flight),
        _ => u32::MAX,
    }
}

/// Everything that a fetcher needs.
#[derive(Clone)]
pub(crate) struct Fetcher {
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) worker: WorkerId,
    /// How many slots the queue has, free or not.
    pub(crate) concurrency: usize,
    pub(crate) slots: Arc<Semaphore>,
    /// Whether other shards' fetchers take the same slots: then none are taken before a job is due, and none while the
    /// database does not answer.
    pub(crate) shares_slots: bool,
    pub(crate) running: Running,
    pub(crate) metrics: Metrics,
    pub(crate) chance: Chance,
    /// Stop claiming.
    pub(crate) soft: CancellationToken,
    /// Stop at once.
    pub(crate) hard: CancellationToken,
}

impl Fetcher {
    /// Claims and hands over until the worker is stopped.
    pub(crate) async fn run(self, context: WorkerContext, jobs: mpsc::UnboundedSender<Assignment>) {
        let mut back_off = BackOff::new(&self.chance);
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
                let wake_up = self.ledger.db().waker().jobs_waiting(self.queue);
                self.unless_stopped(tokio::time::timeout(POLL_INTERVAL, wake_up)).await;
            }
            Next::SleepUntilFreed => {
                let wake_up = self.ledger.db().waker().jobs_waiting(self.queue);
                let either = async {
                    tokio::select! { _ = wake_up => {}, () = self.running.freed.notified() => {} }
                };
                self.unless_stopped(tokio::time::timeout(POLL_INTERVAL, either)).await;
            }
            Next::BackOff => drop(self.unless_stopped(tokio::time::sleep(back_off.wait())).await),
        }
    }

    /// Releases a job that was not started; it costs nothing (DESIGN §3, `Release`).
    pub(crate) async fn release(&self, claimed: &Claimed) {
        let token = claimed.lease_token();
        let transition = Transition::Release { delay: chrono::Duration::zero() };
        let answer = with_retries(&self.chance, &self.hard, || {
            self.ledger.db().in_time(self.ledger.settle(&token, transition))
        })
        .await;
        tracing::info!(job_id = %token.job_id, epoch = %token.epoch, granted = matches!(answer, Ok(Answer::Granted { .. })), "released unstarted");
    }

    /// `in_flight`: the slots of a claim that has not answered yet. All of them may become one user's, so they come off what
    /// each user may have: other users' jobs are then looked for first.
    async fn claim(self, free: OwnedSemaphorePermit, in_flight: usize) -> Done {
        let (running, share) = self.running.shares(self.concurrency);
        let in_flight = u32::try_from(in_flight).unwrap_or(u32::MAX);
        let share = share.saturating_sub(in_flight);
        let request = ClaimRequest {
            queue: self.queue,
            worker: self.worker.clone(),
            slots: u32::try_from(free.num_permits()).unwrap_or(u32::MAX),
            share,
            most: most_of_one_user(self.concurrency, in_flight),
            running,
        };
        let claims = self.ledger.claim(&request).await;
        if let Ok(claims) = &claims {
            self.metrics.count_claims(claims);
        }
        (claims, free)
    }

    /// Waits for `least` free slots and gathers all that are free by then; `None` when the fetcher is to stop.
    async fn free_slots(&self, least: usize) -> Option<OwnedSemaphorePermit> {
        if self.shares_slots {
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
        let mut back_off = BackOff::new(&self.chance);
        loop {
            match self.ledger.db().in_time(self.ledger.is_job_due(self.queue)).await {
                Ok(true) => return,
                Ok(false) => {
                    back_off.reset();
                    let wake_up = self.ledger.db().waker().jobs_waiting(self.queue);
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
        claims: Vec<Claimed>,
        mut free: OwnedSemaphorePermit,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) {
        for claimed in claims {
            let slot = match free.split(1) {
                Some(permit) if !self.is_stopping(context) => self.slot(permit, &claimed.user_id),
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

    fn slot(&self, permit: OwnedSemaphorePermit, user: &UserId) -> Slot {
        self.running.add(user);
        Slot { _permit: permit, counted: Some((self.running.clone(), user.clone())) }
    }

    fn is_stopping(&self, context: &WorkerContext) -> bool {
        self.soft.is_cancelled() || self.hard.is_cancelled() || context.is_shutting_down()
    }

    async fn unless_stopped<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.soft.cancelled() => None,
            () = self.hard.cancelled() => None,
            done = wait => Some(done),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use prometheus::Registry;
    use sqlx::postgres::PgConnectOptions;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    /// Nothing here takes this long; what does has hung.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A fetcher of one slot whose database is at `options`.
    fn fetcher(options: PgConnectOptions) -> Fetcher {
        Fetcher {
            ledger: Ledger::new(options, ledger::Settings::default()),
            queue: Queue::Creation,
            worker: WorkerId("w".to_owned()),
            concurrency: 1,
            slots: Arc::new(Semaphore::new(1)),
            shares_slots: false,
            running: Running::default(),
            metrics: Metrics::new(&Registry::new()).unwrap(),
            chance: Chance::new(1),
            soft: CancellationToken::new(),
            hard: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetcher_whose_worker_is_gone_claims_nothing_more() {
        // There is no database to ask.
        let fetcher = fetcher(PgConnectOptions::new_without_pgpass());
        let (send, jobs) = mpsc::unbounded_channel();
        drop(jobs);
        let ended = tokio::time::timeout(Duration::from_secs(1), fetcher.run(WorkerContext::new("w"), send));
        ended.await.unwrap();
    }

    #[tokio::test]
    async fn claims_back_off_while_the_database_hangs_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let fetcher = fetcher(
            PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(address.port()).username("w"),
        );
        let (soft, (send, _jobs)) = (fetcher.soft.clone(), mpsc::unbounded_channel());
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

    #[test]
    fn one_of_three_slots_or_more_is_left_for_users_who_have_none() {
        assert_eq!([1, 2, 3, 4].map(|slots| most_of_one_user(slots, 0)), [u32::MAX, u32::MAX, 2, 3]);
        assert_eq!((most_of_one_user(4, 2), most_of_one_user(4, 4)), (1, 0));
    }

    #[test]
    fn a_user_s_share_is_half_of_the_slots_and_a_single_slot_goes_round() {
        let running = Running::default();
        let (ann, bob) = (UserId::new("ann"), UserId::new("bob"));
        running.add(&ann);
        running.add(&ann);
        running.add(&bob);
        assert_eq!(running.shares(4), (HashMap::from([(ann.clone(), 2), (bob.clone(), 1)]), 2));
        running.remove(&ann);
        running.remove(&ann);
        running.remove(&bob);
        assert_eq!(running.shares(4), (HashMap::new(), 2));
        assert_eq!(running.shares(1), (HashMap::from([(bob, 1)]), 1), "bob was last");
    }
}
