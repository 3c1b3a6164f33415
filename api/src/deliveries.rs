//! The ports of the run route: who may deliver a job, and who runs it. Declared here, because deliveries come in here; implemented where
//! tokens are verified and jobs are run, which this crate cannot name; tied together by the binary.

use std::{fmt::Debug, time::Duration};

use futures::future::BoxFuture;
use job::{Generation, JobId, Timestamp};

/// The callers that may deliver jobs.
pub trait Invokers: Debug + Send + Sync {
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
pub trait Deliveries: Debug + Send + Sync {
    /// Claims and runs the dispatch (job, generation), and answers when the run has ended, or for too long has not. Goes on by itself when
    /// no client waits for the answer any more.
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered>;
}

/// How a delivery is answered (DECISIONS §4, "run route").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The run completed the job.
    Done,
    /// The run, or the claim, was the last one: the job is a dead letter.
    DeadLetter,
    /// Another dispatch of the job is on its way, to be delivered at that time.
    Retry(Timestamp),
    /// The job was completed before.
    Acked,
    /// Delivering it is of no use; why.
    Dropped(&'static str),
    /// A run holds its lease for this long, unless it is renewed.
    Leased(Duration),
    /// It may not be claimed before this is over.
    NotYet(Duration),
    /// No slot is free, the process stops, or the database does not answer.
    Busy,
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
