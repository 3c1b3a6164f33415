//! Operations that change jobs or deliveries, and the state in which each is executed.

use chrono::Duration;
use db::Error;
use job::{FailureCode, Generation, Outcome, Queue, WorkerId};
use ledger::{
    CheckpointKey, ClaimRequest, Ledger, Operation, OperatorAction, StoredJob, Transition, WithKeys,
};
use operations::Operations;
use outbox::{ClaimedDelivery, DeliveryOutcome, DeliveryPolicy};
use records::UserId;
use store::UserChange;

use crate::{
    CrashOperation,
    world::{World, completion, conversation, new_conversation, results, wanted},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobOperation {
    Create,
    CreateParked,
    CreateWithKeys,
    Defer,
    Finalize,
    FinalizeAgain,
    FinalizeWithKeys,
    Reprocess,
    AdmitAbandoned,
    Claim,
    ClaimInTurn,
    ClaimRefused,
    ClaimUnreadable,
    ClaimTask,
    ClaimTaskOfDead,
    ClaimWithKeys,
    Renew,
    Checkpoint,
    ReplaceCheckpoint,
    Spend,
    Release,
    ReleaseLater,
    FailOnce,
    FailForGood,
    Park,
    Complete,
    CompleteDiscarded,
    ReconcileLease,
    ReconcileParked,
    ReconcilePoison,
    ReconcileTask,
    DeferJob,
    Sweep,
    Replay,
    ReplayFromScratch,
    Settle,
    RunNow,
    Cancel,
    Prune,
    Delete,
    DeleteCompleted,
    RequireByok,
    ClaimDelivery,
    KeepBody,
    FinishDelivery,
    FailDelivery,
    EndpointGone,
}

/// The user of an operation, and what its caller holds.
pub(crate) struct Setup {
    user: UserId,
    claimed: Option<StoredJob>,
    delivery: Option<ClaimedDelivery>,
}

/// Makes the database refuse a lease of this job, as for a value that violates a constraint.
const REFUSE: &str = "create or replace function refuse() returns trigger language plpgsql as \
         $$begin raise exception 'no' using errcode = '23514'; end$$; \
     create or replace trigger refuse before update on finalization_jobs for each row \
         when (new.user_id like 'ClaimRefused%' and new.status = 'leased') execute function refuse()";
/// Removes what made the claim fail.
const REPAIRED: &str = "drop trigger if exists refuse on finalization_jobs; \
     update finalization_jobs set origin = 'create' where user_id like 'ClaimUnreadable%'";
/// Stores an origin that this version does not know.
const UNREADABLE: &str = "alter table finalization_jobs drop constraint if exists origin_known; \
     update finalization_jobs set origin = 'unknown' \
     where user_id like 'ClaimUnreadable%' and status = 'queued'";
/// Moves the times of a parked job 15 days back.
const FORTNIGHT: &str = "update finalization_jobs set version = version + 1, \
     first_blocked_at = first_blocked_at - interval '15 days', \
     reconcile_after_at = reconcile_after_at - interval '15 days' where user_id = $1";
/// One crash below the limit.
const NEARLY_POISON: &str =
    "update finalization_jobs set version = version + 1, crashes = 4 where user_id = $1";
const FIVE_MINUTES_LATER: &str = "update finalization_jobs set version = version + 1, \
     ready_at = ready_at - interval '5 minutes', reconcile_after_at = reconcile_after_at - interval '5 minutes' \
     where user_id = $1";
const YESTERDAY: &str =
    "update conversations set last_append_at = last_append_at - interval '25 hours' where user_id = $1";
/// The job was handed over to a task queue ten minutes ago.
const HANDED: &str = "update finalization_jobs set version = version + 1, queue = 'finalization', \
     handed_dispatch = dispatch, handed_at = clock_timestamp() - interval '10 minutes', \
     ready_at = ready_at - interval '10 minutes', reconcile_after_at = reconcile_after_at - interval '10 minutes' \
     where user_id = $1";
/// A state that no operation leaves behind; the sweep repairs it.
const STRANDED: &str =
    "update conversations set updated_at = updated_at - interval '1 hour' where user_id = $1";
pub(crate) const LONG_AGO: &str =
    "update finalization_jobs set finished_at = finished_at - interval '60 days' where user_id = $1";

impl CrashOperation for JobOperation {
    type Setup = Setup;

    /// Brings the user's one conversation to the state in which this operation is executed.
    async fn prepare(self, world: &World, user_id: &str) -> Setup {
        let user = world.user(user_id).await;
        let ledger = world.ledger();
        let mut setup = Setup { user, claimed: None, delivery: None };
        let user = &setup.user;
        match self {
            Self::Create | Self::Defer => {}
            Self::CreateParked | Self::CreateWithKeys => require_byok(&ledger, user).await,
            Self::Finalize | Self::FinalizeWithKeys => world.deferred(user).await,
            Self::AdmitAbandoned => {
                world.deferred(user).await;
                world.run(YESTERDAY, user).await;
            }
            Self::Claim | Self::ClaimTask | Self::Delete | Self::RequireByok => {
                world.admitted(user).await;
            }
            Self::ReconcileTask => {
                world.admitted(user).await;
                world.run(HANDED, user).await;
            }
            Self::ClaimInTurn => {
                world.admitted(user).await;
                let other = world.user(&format!("{user}-other")).await;
                world.admitted(&other).await;
            }
            Self::ClaimRefused => {
                world.admitted(user).await;
                world.run_all(REFUSE).await;
            }
            Self::ClaimUnreadable => {
                world.admitted(user).await;
                world.run_all(UNREADABLE).await;
            }
            Self::ClaimWithKeys => {
                require_byok(&ledger, user).await;
                world.admitted(user).await;
            }
            Self::ReconcileParked => {
                require_byok(&ledger, user).await;
                world.admitted(user).await;
                world.run(FORTNIGHT, user).await;
            }
            Self::Sweep | Self::FinalizeAgain | Self::Replay | Self::ReplayFromScratch | Self::Settle => {
                dead_letter(world, &ledger, user).await;
                if self == Self::Sweep {
                    world.run(STRANDED, user).await;
                }
            }
            Self::Prune | Self::DeleteCompleted | Self::ClaimDelivery | Self::Reprocess => {
                complete(world, &ledger, user).await;
                if self == Self::Prune {
                    world.run(LONG_AGO, user).await;
                }
            }
            Self::KeepBody | Self::FinishDelivery | Self::FailDelivery | Self::EndpointGone => {
                complete(world, &ledger, user).await;
                let mut due =
                    ledger.outbox().claim_deliveries(50, &deliveries(), None).await.unwrap().claimed;
                let own = due.iter().position(|delivery| delivery.user_id == *user).expect("one is due");
                setup.delivery = Some(due.swap_remove(own));
            }
            Self::RunNow => {
                let claimed = world.claimed(user).await;
                fail(&ledger, &claimed, FailureCode::ModelTimeout).await.unwrap();
            }
            Self::ClaimTaskOfDead | Self::ReconcilePoison => {
                setup.claimed = Some(world.claimed(user).await);
                world.run(NEARLY_POISON, user).await;
            }
            _ => setup.claimed = Some(world.claimed(user).await),
        }
        setup
    }

    async fn wait(self, world: &World, setup: &Setup) {
        if matches!(self, Self::ClaimRefused | Self::ClaimUnreadable) {
            world.run_all(REPAIRED).await;
        }
        if matches!(self, Self::ClaimRefused | Self::ClaimUnreadable | Self::DeferJob) {
            world.run(FIVE_MINUTES_LATER, &setup.user).await;
        }
    }

    async fn execute(self, ledger: &Ledger, setup: &Setup) -> Result<(), Error> {
        let user = &setup.user;
        let id = conversation(user);
        let job = job::JobId::derive(user.as_str(), id.as_str(), 1);
        let worker = WorkerId("v".to_owned());
        let claimed = || setup.claimed.clone().expect("a run has begun");
        let action = OperatorAction::new("olga", "fixed");
        let finish = |outcome| async move {
            let delivery = setup.delivery.as_ref().expect("one was claimed");
            ledger.outbox().finish_delivery(delivery, outcome, &deliveries()).await.map(drop)
        };
        match self {
            Self::Create | Self::CreateParked => {
                ledger.create_conversation(user, new_conversation(user), None).await.map(drop)
            }
            Self::Defer => {
                let new = ledger::NewConversation { deferred: true, ..new_conversation(user) };
                ledger.create_conversation(user, new, None).await.map(drop)
            }
            Self::CreateWithKeys => {
                let keys = WithKeys { claimant: Some(&worker) };
                ledger.create_conversation(user, new_conversation(user), Some(keys)).await.map(drop)
            }
            Self::Finalize | Self::FinalizeAgain => ledger.finalize(user, &id, None, None).await.map(drop),
            Self::FinalizeWithKeys => {
                let keys = WithKeys { claimant: Some(&worker) };
                ledger.finalize(user, &id, None, Some(keys)).await.map(drop)
            }
            Self::Reprocess => ledger.reprocess(user, &id, None).await.map(drop),
            Self::AdmitAbandoned => ledger.admit_abandoned(user, &id).await.map(drop),
            Self::Claim | Self::ClaimRefused | Self::ClaimUnreadable => {
                ledger.claim(&wanted(Queue::Creation, 10)).await.map(drop)
            }
            Self::ClaimInTurn => {
                // The user's share is used up, and the one free slot goes to another user.
                let running = [(user.clone(), 1)].into();
                let request = ClaimRequest { share: 1, running, ..wanted(Queue::Creation, 1) };
                ledger.claim(&request).await.map(drop)
            }
            Self::ClaimTask | Self::ClaimTaskOfDead => {
                ledger.claim_delivery(&job, Generation(1), &worker).await.map(drop)
            }
            Self::ClaimWithKeys => ledger.claim_with_keys(&job, &worker).await.map(drop),
            Self::Renew => ledger.renew(&[claimed().lease_token()]).await.map(drop),
            Self::Checkpoint | Self::ReplaceCheckpoint => {
                let key = CheckpointKey { stage: "describe", version: 1, digest: [7; 32] };
                let (token, output) = (claimed().lease_token(), serde_json::json!({"n": 1}));
                let replaces = self == Self::ReplaceCheckpoint;
                ledger.record(&token, &key, &output, replaces, &[]).await.map(drop)
            }
            Self::Spend => {
                let spent =
                    ledger::Spent { stage: "survey".to_owned(), calls: 1, ..ledger::Spent::default() };
                ledger.spend(&claimed().lease_token(), &[spent]).await.map(drop)
            }
            Self::Release | Self::ReleaseLater => {
                let delay = Duration::milliseconds(if self == Self::Release { 0 } else { 1 });
                ledger.settle(&claimed().lease_token(), Transition::Release { delay }, None).await.map(drop)
            }
            Self::FailOnce => fail(ledger, &claimed(), FailureCode::ModelTimeout).await,
            Self::FailForGood => fail(ledger, &claimed(), FailureCode::NoContent).await,
            Self::Park => ledger.settle(&claimed().lease_token(), Transition::Park, None).await.map(drop),
            Self::Complete | Self::CompleteDiscarded => {
                let outcome = if self == Self::Complete { Outcome::Kept } else { Outcome::Discarded };
                ledger.complete(&completion_of(&claimed(), outcome)).await.map(drop)
            }
            Self::ReconcileTask => ledger.reconcile_task(&job, job::Dispatch(1), false).await.map(drop),
            Self::ReconcileLease | Self::ReconcileParked | Self::ReconcilePoison => {
                ledger.reconcile(&job).await.map(drop)
            }
            Self::DeferJob => ledger.defer(user, &job).await,
            Self::Sweep => ledger.sweep_processing(None, 10).await.map(drop),
            Self::Replay => {
                ledger.operate(&job, Operation::Replay { from_scratch: false }, &action).await.map(drop)
            }
            Self::RunNow => ledger.operate(&job, Operation::RunNow, &action).await.map(drop),
            Self::Cancel => ledger.operate(&job, Operation::Cancel, &action).await.map(drop),
            Self::ReplayFromScratch => {
                ledger.operate(&job, Operation::Replay { from_scratch: true }, &action).await.map(drop)
            }
            Self::Settle => ledger.operate(&job, Operation::Discard, &action).await.map(drop),
            Self::Prune => {
                Operations::new(ledger).prune(std::time::Duration::from_secs(30 * 86_400), 10).await.1
            }
            Self::Delete | Self::DeleteCompleted => ledger.delete_conversation(user, &id).await.map(drop),
            Self::RequireByok => {
                let change = UserChange { requires_byok: Some(true), ..UserChange::default() };
                ledger.change_user(user, &change).await.map(drop)
            }
            Self::ClaimDelivery => ledger.outbox().claim_deliveries(1, &deliveries(), None).await.map(drop),
            Self::KeepBody => {
                let delivery = setup.delivery.as_ref().expect("one was claimed");
                ledger.outbox().keep_body(delivery, b"{}").await.map(drop)
            }
            Self::FinishDelivery => finish(DeliveryOutcome::Delivered { status: 204 }).await,
            Self::FailDelivery => {
                let error = "status";
                let retry_after = None;
                finish(DeliveryOutcome::Retry { status: Some(503), error, retry_after, jitter_permille: 0 })
                    .await
            }
            Self::EndpointGone => finish(DeliveryOutcome::Gone).await,
        }
    }
}

/// Expired tries are due again at once.
pub(crate) fn deliveries() -> DeliveryPolicy {
    DeliveryPolicy {
        sending: std::time::Duration::from_millis(1),
        per_endpoint: 50,
        ..DeliveryPolicy::default()
    }
}

async fn fail(ledger: &Ledger, claimed: &StoredJob, code: FailureCode) -> Result<(), Error> {
    let transition = Transition::Fail { code, retry_after: None, jitter_permille: 0 };
    ledger.settle(&claimed.lease_token(), transition, None).await.map(drop)
}

fn completion_of(claimed: &StoredJob, outcome: Outcome) -> std::sync::Arc<ledger::Completion> {
    let results = match outcome {
        Outcome::Kept => results(),
        _ => ledger::Results::default(),
    };
    completion(claimed, outcome, results)
}

pub(crate) async fn complete(world: &World, ledger: &Ledger, user: &UserId) {
    let claimed = world.claimed(user).await;
    ledger.complete(&completion_of(&claimed, Outcome::Kept)).await.unwrap();
}

pub(crate) async fn dead_letter(world: &World, ledger: &Ledger, user: &UserId) {
    let claimed = world.claimed(user).await;
    fail(ledger, &claimed, FailureCode::NoContent).await.unwrap();
}

async fn require_byok(ledger: &Ledger, user: &UserId) {
    let change = UserChange { requires_byok: Some(true), ..UserChange::default() };
    ledger.change_user(user, &change).await.unwrap();
}
