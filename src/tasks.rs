//! Ties the task queue and the runs of what it delivers to the ports that `api` and `reconciler` declare for them.

use api::NotInvoker;
use futures::future::{BoxFuture, FutureExt};
use job::{Dispatch, Generation, JobId};
use ledger::Delivered;
use tasks::{Holds, Refusal, TaskQueue, Verifier};
use worker::DeliveredRuns;

/// Who may deliver, as the API asks.
pub(crate) struct Invokers(pub(crate) Verifier);

/// The delivered runs of this process, of each shard by its number, as its API reaches them.
pub(crate) struct Deliveries(pub(crate) Vec<DeliveredRuns>);

/// The task queue, as the reconciler asks it.
#[derive(Debug)]
pub(crate) struct ReconcilerQueue(pub(crate) TaskQueue);

impl api::Invokers for Invokers {
    fn check<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>> {
        let check = self.0.check(token).map(|checked| {
            checked.map_err(|refusal| match refusal {
                Refusal::NoKeys => NotInvoker::NoKeys,
                refusal if refusal.is_forbidden() => NotInvoker::Forbidden,
                _ => NotInvoker::NotAuthenticated,
            })
        });
        Box::pin(check)
    }
}

impl api::Deliveries for Deliveries {
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered> {
        Box::pin(async move {
            let shards = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
            match self.0.get(usize::from(job.shard(shards))) {
                Some(runs) => runs.deliver(&job, generation).await,
                None => Delivered::Busy,
            }
        })
    }
}

impl reconciler::TaskQueue for ReconcilerQueue {
    fn holds<'a>(
        &'a self,
        job: &'a JobId,
        generation: Generation,
        dispatch: Dispatch,
    ) -> BoxFuture<'a, Option<bool>> {
        Box::pin(self.0.holds(job, generation, dispatch).map(|holds| match holds {
            Holds::Yes => Some(true),
            Holds::No => Some(false),
            Holds::Unknown => None,
        }))
    }
}
