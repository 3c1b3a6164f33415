//! Runs with a user's own keys: the port to them, and how an admission hands its job over. The port is declared here,
//! because requests bring the keys; it is implemented where jobs are run, which this crate cannot name; the binary ties
//! them together.

use job::{JobId, WorkerId};
use ledger::{Ledger, LiveAdmission, StoredJob};
use records::UserId;
use secrecy::SecretString;

use crate::{Error, completion::run_to_completion};

/// The keyed runs of this process.
pub trait ByokRuns: Send + Sync {
    /// A place for one more job of `user`'s, kept until it is used or dropped; `None` when too many wait.
    fn permit(&self, user: &UserId) -> Option<Box<dyn ByokPermit>>;
}

/// A place among the keyed runs of this process.
pub trait ByokPermit: Send + Sync {
    /// Under which name the admission may take the lease at once; `None` while no slot is free.
    fn claimant(&self) -> Option<WorkerId>;

    /// Runs a job whose lease was taken under that name.
    fn run(self: Box<Self>, claimed: StoredJob, key: SecretString);

    /// Claims and runs a parked job as soon as a slot is free.
    fn wait(self: Box<Self>, job: JobId, key: SecretString);
}

/// A process without keyed runs: there is never a place.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoByokRuns;

impl ByokRuns for NoByokRuns {
    fn permit(&self, _: &UserId) -> Option<Box<dyn ByokPermit>> {
        None
    }
}

/// What an admission leaves to the keyed runs: the job, and the lease if it was taken at once.
pub(crate) type Left<T> = (T, Option<JobId>, Option<StoredJob>);

/// Admits a request that brings keys, for which a slot is reserved: `admit` gets the worker that may take the lease at once, and the
/// job goes to the keyed runs with its keys. Once begun, it is not given up when the client hangs up: a lease that was
/// taken must reach the run. (Reprocessing is admitted in the same way.)
pub(crate) async fn admitted<T, F>(
    permit: Box<dyn ByokPermit>,
    ledger: &Ledger,
    key: SecretString,
    admit: impl FnOnce(Ledger, Option<WorkerId>) -> F + Send + 'static,
) -> Result<T, Error>
where
    T: Send + 'static,
    F: Future<Output = Result<Left<T>, Error>> + Send,
{
    let ledger = ledger.clone();
    run_to_completion(async move {
        let (answer, job, claimed) = admit(ledger, permit.claimant()).await?;
        match (claimed, job) {
            (Some(claimed), _) => permit.run(claimed, key),
            (None, Some(job)) => permit.wait(job, key),
            (None, None) => {}
        }
        Ok(answer)
    })
    .await
}

/// The end of a live conversation as [`admitted`] takes it: with the job that waits for the keys, and its claim.
pub(crate) fn ended_with_keys(mut ended: LiveAdmission) -> Left<LiveAdmission> {
    let (job, claimed) = match &mut ended {
        LiveAdmission::Admitted(admitted) => {
            (Some(admitted.job_id.clone()), admitted.claimed.take().map(|claimed| *claimed))
        }
        _ => (None, None),
    };
    (ended, job, claimed)
}
