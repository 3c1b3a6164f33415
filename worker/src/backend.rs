//! Our bells as a backend of apalis: a queue's pump behind apalis-core's own seam.
//!
//! Its error type is `Infallible`, because any error of a backend ends apalis' worker and drops every run
//! in it; the pump waits out a database that is away.

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

use crate::pump::{Assignment, Pump};
use crate::run::dispatch_id;

/// The bells of one queue.
pub(crate) struct Bells {
    pump: Pump,
    state: State,
}

enum State {
    /// Not polled yet: the pump needs the worker's context, which comes with the first poll.
    New,
    /// The pump takes; what it took waits here for apalis, which starts it at once.
    Open {
        jobs: mpsc::UnboundedReceiver<Assignment>,
        pump: JoinHandle<()>,
    },
    /// The last take lands, and what was not started is released.
    Closing(BoxFuture<'static, ()>),
    Closed,
}

impl Bells {
    pub(crate) fn new(pump: Pump) -> Self {
        Self { pump, state: State::New }
    }

    fn open(&self, worker: &WorkerContext) -> State {
        let (send, jobs) = mpsc::unbounded_channel();
        State::Open { jobs, pump: tokio::spawn(self.pump.clone().run(worker.clone(), send)) }
    }

    fn close(&mut self) -> State {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Open { mut jobs, pump } => {
                let releaser = self.pump.clone();
                State::Closing(Box::pin(async move {
                    // A pump that panicked has dropped its channel: what it sent is still there.
                    let _ = pump.await;
                    while let Some(unstarted) = jobs.recv().await {
                        releaser.release(&unstarted.claimed).await;
                    }
                }))
            }
            state => state,
        }
    }
}

impl Backend for Bells {
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
    let id = TaskId::String(dispatch_id(&assignment.claimed));
    TaskBuilder::new(assignment).task_id(id).build()
}

impl BackendConfig for Bells {
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
