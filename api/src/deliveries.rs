//! The ports of the run route: who may deliver a job, and who runs it. Declared here, because deliveries come in here; implemented where
//! tokens are verified and jobs are run, which this crate cannot name; tied together by the binary.

use futures::future::BoxFuture;
use job::{Generation, JobId};
use ledger::Delivered;

/// The callers that may deliver jobs.
pub trait Invokers: Send + Sync {
    /// Whether the bearer of `token` may.
    fn check<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>>;
}

/// Why a caller may not deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInvoker {
    /// There is no token of the service's issuer: 401.
    NotAuthenticated,
    /// It is a good token of another identity: 403.
    Forbidden,
    /// Nothing is known yet by which a token could be verified: 503.
    NoKeys,
}

/// The runs of delivered jobs in this process.
pub trait Deliveries: Send + Sync {
    /// Claims and runs the dispatch (job, generation), and answers when the run has ended, or for too long has not. Goes on by itself when
    /// no client waits for the answer any more.
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered>;
}

/// A process that runs no delivered jobs, and where no caller may deliver.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDeliveries;

impl Invokers for NoDeliveries {
    fn check<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>> {
        Box::pin(async { Err(NotInvoker::NotAuthenticated) })
    }
}

impl Deliveries for NoDeliveries {
    fn deliver(&self, _: JobId, _: Generation) -> BoxFuture<'_, Delivered> {
        Box::pin(async { Delivered::Busy })
    }
}
