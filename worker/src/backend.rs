//! A queue of the job table as a backend of apalis: its fetcher behind apalis-core's own seam.
//!
//! Its error type is `Infallible`, because any error of a backend ends apalis' worker and drops every run in it; the
//! fetcher retries while the database does not answer.

use std::convert::Infallible;
use std::task::{Context, Poll, ready};

use apalis_core::backend::{Backend, BackendConfig, finalize::Ephemeral};
use apalis_core::layers::Identity;
use apalis_core::task::task_id::{RandomId, TaskId};
use apalis_core::task::{Task, builder::TaskBuilder};
use apalis_core::worker::context::WorkerContext;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::fetcher::{Assignment, Fetcher};

pub(crate) struct JobQueue {
    fetcher: Fetcher,
    state: State,
}

enum State {
    /// Not polled yet: the fetcher needs the worker's context, which comes with the first poll.
    New,
    /// The fetcher claims; what it claimed waits here for apalis, which starts it at once.
    Open {
        jobs: mpsc::UnboundedReceiver<Assignment>,
        fetcher: JoinHandle<()>,
    },
    /// The last claim lands, and what was not started is released.
    Closing(BoxFuture<'static, ()>),
    Closed,
}

impl JobQueue {
    pub(crate) fn new(fetcher: Fetcher) -> Self {
        Self { fetcher, state: State::New }
    }

    fn open(&self, worker: &WorkerContext) -> State {
        let (send, jobs) = mpsc::unbounded_channel();
        State::Open { jobs, fetcher: tokio::spawn(self.fetcher.clone().run(worker.clone(), send)) }
    }

    fn close(&mut self) -> State {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Open { mut jobs, fetcher } => {
                let releaser = self.fetcher.clone();
                State::Closing(Box::pin(async move {
                    // A fetcher that panicked has dropped its channel: what it sent is still there.
                    let _ = fetcher.await;
                    while let Some(unstarted) = jobs.recv().await {
                        releaser.release(&unstarted.claimed).await;
                    }
                }))
            }
            state => state,
        }
    }
}

impl Backend for JobQueue {
    type Task = Task<Assignment>;
    type Error = Infallible;

    fn poll_ready(&mut self, _: &mut Context<'_>, worker: &WorkerContext) -> Poll<Result<(), Infallible>> {
        if matches!(self.state, State::New) {
            self.state = self.open(worker);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Option<Result<Self::Task, Infallible>>> {
        let State::Open { jobs, .. } = &mut self.state else { return Poll::Ready(None) };
        let next = ready!(jobs.poll_recv(cx));
        Poll::Ready(next.map(|assignment| Ok(task(assignment))))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _: &WorkerContext) -> Poll<Result<(), Infallible>> {
        if !matches!(self.state, State::Closing(_)) {
            self.state = self.close();
        }
        if let State::Closing(last) = &mut self.state {
            ready!(last.poll_unpin(cx));
            self.state = State::Closed;
        }
        Poll::Ready(Ok(()))
    }
}

/// Each dispatch has an id of its own: apalis refuses repeated ones when any crate asks it to track tasks.
fn task(assignment: Assignment) -> Task<Assignment> {
    let job = &assignment.claimed.job;
    let id = TaskId::String(format!("{}/{}/{}", job.id, job.generation, job.epoch));
    TaskBuilder::new(assignment).task_id(id).build()
}

impl BackendConfig for JobQueue {
    type Args = Assignment;
    type Id = RandomId;
    /// Arguments stay typed: nothing is encoded, the ledger is what lasts.
    type Kind = Ephemeral;
    type Config = ();
    type Layer = Identity;

    fn config(&self) -> &() {
        &()
    }

    fn middleware(&mut self, _: &mut WorkerContext) -> Identity {
        Identity::new()
    }
}
