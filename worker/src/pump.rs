//! The pump of one queue: takes bells for as many jobs as there are free slots, never more.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use apalis_core::worker::context::WorkerContext;
use job::{Queue, WorkerId};
use ledger::{Answer, Claimed, Edge, Ledger, Taken};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::answered::{BackOff, until_answered};
use crate::chance::Chance;
use crate::metrics::Metrics;

/// How often the table is asked though nobody rang: polling is the truth, a ring only a wake-up.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A bell whose time has come between two looks is asked for a little later, not in a tight loop.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);

/// How many takes may be on their way at once. A second one is begun beside the first when no fewer slots are free for
/// it: it finds its jobs while those of the first are committed, and few are left to wait for a take to end.
const TAKES: usize = 2;

/// What came of a take, with the slots that it was for.
type Done = (Result<Taken, ledger::Error>, OwnedSemaphorePermit);

/// What a pump does behind a take that has landed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// More was there, and more may be.
    Take,
    /// Nothing was there.
    Sleep,
    /// Nothing else was there, and nothing will be for so long, unless somebody rings.
    Rest(Duration),
    /// The database did not answer.
    BackOff,
}

/// A claimed job with the slot that it occupies until it is dropped.
pub(crate) struct Assignment {
    /// The job, leased by this process.
    pub(crate) claimed: Claimed,
    /// Its slot.
    pub(crate) slot: OwnedSemaphorePermit,
}

/// Everything that a pump needs.
#[derive(Clone)]
pub(crate) struct Pump {
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) worker: WorkerId,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    pub(crate) chance: Chance,
    /// Stop claiming.
    pub(crate) soft: CancellationToken,
    /// Stop at once.
    pub(crate) hard: CancellationToken,
}

impl Pump {
    /// Takes and hands over until the worker is stopped.
    pub(crate) async fn run(self, context: WorkerContext, jobs: mpsc::UnboundedSender<Assignment>) {
        let mut back_off = BackOff::new(&self.chance);
        let mut takes: JoinSet<Done> = JoinSet::new();
        // The slots that those takes are for.
        let mut asked_for = 0;
        let mut next = Next::Take;
        loop {
            // The last one to land has the word: nobody rests over what another one brings.
            if takes.is_empty() {
                self.rest(std::mem::replace(&mut next, Next::Take), &mut back_off).await;
            }
            tokio::select! {
                biased;
                Some(done) = takes.join_next() => {
                    let (taken, free) = match done {
                        Ok(done) => done,
                        Err(broken) => {
                            self.land(takes, &context, &jobs).await;
                            return broken.try_into_panic().map_or((), |panic| resume_unwind(panic));
                        }
                    };
                    asked_for -= free.num_permits();
                    next = self.answered(taken, free, &context, &jobs).await;
                    if next != Next::BackOff {
                        back_off.reset();
                    }
                }
                free = self.free_slots(asked_for.max(1)), if takes.len() < TAKES && next == Next::Take => match free {
                    Some(free) if !self.is_stopping(&context) && !jobs.is_closed() => {
                        asked_for += free.num_permits();
                        takes.spawn(self.clone().take(free));
                    }
                    // Stopped; or the worker ended by itself, and has dropped the other end.
                    _ => break,
                },
            }
        }
        self.land(takes, &context, &jobs).await;
    }

    /// Waits for the takes that are still under way; what a worker that stops has taken is given back.
    async fn land(
        &self,
        mut takes: JoinSet<Done>,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) {
        while let Some(done) = takes.join_next().await {
            if let Ok((taken, free)) = done {
                self.answered(taken, free, context, jobs).await;
            }
        }
    }

    /// Hands over what was taken.
    async fn answered(
        &self,
        taken: Result<Taken, ledger::Error>,
        free: OwnedSemaphorePermit,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) -> Next {
        match taken {
            Ok(taken) => {
                let next = match taken.quiet_for {
                    Some(wait) => Next::Rest(wait),
                    None if taken.answers.is_empty() => Next::Sleep,
                    None => Next::Take,
                };
                self.hand_over(taken, free, context, jobs).await;
                next
            }
            Err(error) => {
                tracing::warn!(%error, queue = %self.queue, "bells could not be taken");
                Next::BackOff
            }
        }
    }

    async fn rest(&self, next: Next, back_off: &mut BackOff) {
        match next {
            Next::Take => {}
            Next::Sleep => self.sleep().await,
            Next::Rest(wait) => self.until_rung(wait).await,
            Next::BackOff => drop(self.unless_stopped(tokio::time::sleep(back_off.wait())).await),
        }
    }

    /// Gives back a job that was not started; it costs nothing (DESIGN §3, `Release`).
    pub(crate) async fn release(&self, claimed: &Claimed) {
        let holding = claimed.holding();
        let edge = Edge::Release { delay: chrono::Duration::zero() };
        let answer = until_answered(&self.chance, &self.hard, || {
            self.ledger.in_time(self.ledger.settle(&holding, edge))
        })
        .await;
        tracing::info!(job_id = %holding.job_id, epoch = %holding.epoch, granted = matches!(answer, Ok(Answer::Granted { .. })), "released unstarted");
    }

    async fn take(self, free: OwnedSemaphorePermit) -> Done {
        let slots = u32::try_from(free.num_permits()).unwrap_or(u32::MAX);
        let taken = self.ledger.take(self.queue, &self.worker, slots).await;
        if let Ok(taken) = &taken {
            self.metrics.count_take(taken);
        }
        (taken, free)
    }

    /// Waits for `least` free slots and gathers all that are free by then; `None` when the pump is to stop.
    async fn free_slots(&self, least: usize) -> Option<OwnedSemaphorePermit> {
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

    /// One slot travels with each job; what is left over is free again. A worker that was stopped
    /// meanwhile starts nothing.
    async fn hand_over(
        &self,
        taken: Taken,
        mut free: OwnedSemaphorePermit,
        context: &WorkerContext,
        jobs: &mpsc::UnboundedSender<Assignment>,
    ) {
        for claimed in taken.claims {
            let slot = match free.split(1) {
                Some(slot) if !self.is_stopping(context) => slot,
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

    /// Sleeps until a ring, or until a bell's time has come. A ring that was heard since the last sleep
    /// counts, so none is lost while a take is in flight.
    async fn sleep(&self) {
        let until_next = match self.ledger.in_time(self.ledger.next_ring_at(self.queue)).await {
            Ok(Some((now, at))) => (at - now).to_std().unwrap_or_default(),
            Ok(None) | Err(_) => POLL_INTERVAL,
        };
        self.until_rung(until_next).await;
    }

    async fn until_rung(&self, until_next: Duration) {
        let rung = self.ledger.waker().rung(self.queue);
        let wait = until_next.clamp(SHORTEST_SLEEP, POLL_INTERVAL);
        self.unless_stopped(tokio::time::timeout(wait, rung)).await;
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

    /// A pump of one slot whose database is at `options`.
    fn pump(options: PgConnectOptions) -> Pump {
        Pump {
            ledger: Ledger::new(options, ledger::Settings::default()),
            queue: Queue::Creation,
            worker: WorkerId("w".to_owned()),
            slots: Arc::new(Semaphore::new(1)),
            metrics: Metrics::new(&Registry::new()).unwrap(),
            chance: Chance::new(1),
            soft: CancellationToken::new(),
            hard: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pump_whose_worker_is_gone_takes_nothing_more() {
        // Without jobs to hand over, nobody asks the database: there is none.
        let pump = pump(PgConnectOptions::new_without_pgpass());
        let (send, jobs) = mpsc::unbounded_channel();
        drop(jobs);
        let ended = tokio::time::timeout(Duration::from_secs(1), pump.run(WorkerContext::new("w"), send));
        ended.await.unwrap();
    }

    #[tokio::test]
    async fn a_database_that_hangs_up_is_asked_less_and_less_often() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let pump =
            pump(PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(address.port()).username("w"));
        let (soft, (send, _jobs)) = (pump.soft.clone(), mpsc::unbounded_channel());
        let began = Instant::now();
        let running = tokio::spawn(pump.run(WorkerContext::new("w"), send));
        // A take tries two sessions.
        for _ in 0..10 {
            tokio::time::timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
        }
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(1), "five takes in {took:?}");
        soft.cancel();
        tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap();
    }
}
