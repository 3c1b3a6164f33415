//! Group commit: requests that arrive while a commit is on its way share the next one.
//!
//! There is no timer: a request that finds no batch in flight runs at once, alone. A second batch starts beside the first
//! when it is no smaller and of some size, so that a trickle of small ones does not cost more than it saves.

use std::{collections::VecDeque, sync::Arc};

use db::Error;
use futures::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

/// How many batches may be in flight: one can be worked on while the other waits for the disk.
const MAX_IN_FLIGHT: usize = 2;

/// How many requests make a batch that starts beside another: fewer cost the server more than they save by not waiting.
const MIN_BESIDE: usize = 4;

/// How many requests one batch holds at most.
const MAX_BATCH: usize = 64;

/// How many requests may run by themselves at once, each with a session of its own.
const MAX_ALONE: usize = 4;

/// What a batch made of one of its requests.
#[derive(Debug)]
pub(crate) enum Batched<A> {
    Done(A),
    /// Another transaction has locked one of its rows. It runs again by itself and waits for them: it delays no other.
    Locked,
}

/// What an operation does about rows that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// Skips them and answers [`Batched::Locked`].
    Skip,
    /// Waits for them: the batch is one request, which has met a lock.
    Wait,
}

/// Gathers requests of one kind. Cheap to clone; clones gather together.
pub(crate) struct Batcher<Q, A> {
    state: Arc<Mutex<State<Q, A>>>,
    alone: Arc<Semaphore>,
}

type Reply<A> = oneshot::Sender<Result<A, Error>>;

/// Runs a batch and returns what it made of each request, in their order.
type Operation<Q, A> =
    Arc<dyn Fn(Vec<Q>, Locks) -> BoxFuture<'static, Result<Vec<Batched<A>>, Error>> + Send + Sync>;

struct State<Q, A> {
    waiting: VecDeque<(Q, Reply<A>)>,
    /// Lanes that are running; each has one batch in flight.
    lanes: usize,
    /// How many requests are in flight.
    in_flight: usize,
}

impl<Q, A> State<Q, A> {
    /// Whether those that wait make a batch to be started now.
    fn has_batch(&self) -> bool {
        match self.in_flight {
            0 => !self.waiting.is_empty(),
            in_flight => self.waiting.len() >= in_flight.clamp(MIN_BESIDE, MAX_BATCH),
        }
    }
}

impl<Q, A> Clone for Batcher<Q, A> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), alone: Arc::clone(&self.alone) }
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Batcher<Q, A> {
    pub(crate) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), lanes: 0, in_flight: 0 };
        Self { state: Arc::new(Mutex::new(state)), alone: Arc::new(Semaphore::new(MAX_ALONE)) }
    }

    /// Runs `request` in the next batch, by `operation` for `who`. A batch is a task of its own: a caller that is dropped
    /// cancels nothing for the others.
    ///
    /// # Errors
    /// Those of `operation`, for this request alone.
    pub(crate) async fn run<W, V, F>(&self, who: &W, request: Q, operation: V) -> Result<A, Error>
    where
        W: Clone + Send + Sync + 'static,
        V: Fn(W, Vec<Q>, Locks) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<Batched<A>>, Error>> + Send + 'static,
    {
        let (reply, answered) = oneshot::channel();
        let who = who.clone();
        let operation: Operation<Q, A> =
            Arc::new(move |requests, locks| operation(who.clone(), requests, locks).boxed());
        if let Some(lane) = self.join(request.clone(), reply) {
            tokio::spawn(lane.run(Arc::clone(&operation)));
        }
        match answered.await {
            Ok(answer) => answer,
            // The batch panicked, over this request or another. Alone, a panic reaches the caller that it belongs to.
            Err(_) => only(operation(vec![request], Locks::Wait).await),
        }
    }

    /// Queues a request; returns a lane if one is to be started for it.
    fn join(&self, request: Q, reply: Reply<A>) -> Option<Lane<Q, A>> {
        let mut state = self.state.lock();
        state.waiting.push_back((request, reply));
        let starts = state.lanes < MAX_IN_FLIGHT && state.has_batch();
        state.lanes += usize::from(starts);
        starts.then(|| Lane { batcher: self.clone(), is_open: true, in_flight: 0 })
    }
}

/// Runs one batch after the other until none waits.
struct Lane<Q: Clone + Send + 'static, A: Send + 'static> {
    batcher: Batcher<Q, A>,
    is_open: bool,
    in_flight: usize,
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Lane<Q, A> {
    async fn run(mut self, operation: Operation<Q, A>) {
        loop {
            // Requests that arrived at the same moment, and those that the last batch answered, join this one.
            tokio::task::yield_now().await;
            let Some((requests, replies)) = self.next() else { break };
            self.answer(requests, replies, &operation).await;
        }
    }

    /// The next batch. Without one the lane closes under the same lock, so that no request counts on a lane that is ending.
    fn next(&mut self) -> Option<(Vec<Q>, Vec<Reply<A>>)> {
        let mut state = self.batcher.state.lock();
        state.in_flight -= std::mem::take(&mut self.in_flight);
        if !state.has_batch() {
            state.lanes -= 1;
            self.is_open = false;
            return None;
        }
        let size = state.waiting.len().min(MAX_BATCH);
        state.in_flight += size;
        self.in_flight = size;
        Some(state.waiting.drain(..size).unzip())
    }

    async fn answer(&self, requests: Vec<Q>, replies: Vec<Reply<A>>, operation: &Operation<Q, A>) {
        let is_alone = requests.len() == 1;
        match operation(requests.clone(), Locks::Skip).await {
            Ok(outcomes) => {
                for ((outcome, request), reply) in outcomes.into_iter().zip(requests).zip(replies) {
                    match outcome {
                        Batched::Done(answer) => send(reply, Ok(answer)),
                        Batched::Locked => self.run_alone(request, reply, operation),
                    }
                }
            }
            Err(error) if is_alone => replies.into_iter().next().map_or((), |reply| send(reply, Err(error))),
            Err(error) => {
                for (request, reply) in requests.into_iter().zip(replies) {
                    match error.for_all() {
                        Some(error) => send(reply, Err(error)),
                        // One request made the batch fail: each runs by itself and fails for reasons of its own.
                        None => self.run_alone(request, reply, operation),
                    }
                }
            }
        }
    }

    /// Runs one request in a task of its own: the lane goes on at once.
    fn run_alone(&self, request: Q, reply: Reply<A>, operation: &Operation<Q, A>) {
        let (operation, alone) = (Arc::clone(operation), Arc::clone(&self.batcher.alone));
        tokio::spawn(async move {
            let _permit = alone.acquire().await;
            send(reply, only(operation(vec![request], Locks::Wait).await));
        });
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Drop for Lane<Q, A> {
    /// A lane that is still open panicked. Requests that no other lane will answer learn of it by their closed channel.
    fn drop(&mut self) {
        if self.is_open {
            let mut state = self.batcher.state.lock();
            state.lanes -= 1;
            state.in_flight -= self.in_flight;
            if state.lanes == 0 {
                state.waiting.clear();
            }
        }
    }
}

/// A caller that was dropped meanwhile receives nothing.
fn send<A>(reply: Reply<A>, answer: Result<A, Error>) {
    let _caller_may_be_gone = reply.send(answer);
}

/// The answer of a batch of one.
pub(crate) fn only<A>(outcomes: Result<Vec<Batched<A>>, Error>) -> Result<A, Error> {
    match outcomes?.into_iter().next() {
        Some(Batched::Done(answer)) => Ok(answer),
        Some(Batched::Locked) | None => Err(Error::Contended { doing: "waiting for a lock" }),
    }
}

#[cfg(test)]
#[path = "batcher/tests.rs"]
mod tests;
