//! Crash tests: the connection of each operation is cut before its first statement, after it, before its second, and
//! so on to the lost answer of its commit; then other processes recover everything, and it is checked.
//!
//! The fault points are in [`proxy`], between the ledger and the server: it reads PostgreSQL's protocol, counts
//! statements and closes the connection. So every statement is one, the commit included, no product code knows of it,
//! and statements that are added later are covered, too.
//!
//! An operation on jobs is followed by recovery, and checked with rules over jobs ([`job_operations`], [`recovery`]).
//! An operation that changes no job is one transaction, and compared with an uncut one ([`atomicity`]). A test asserts
//! that no public operation which writes is left out ([`coverage`]).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

use accounts::Account;
use apps::App;
use bulk_replays::BulkReplay;
use db::Error;
use futures::future::{Either, select};
use job_operations::JobOperation;
use keyed_requests::KeyedRequest;
use ledger::Ledger;
use live::Live;
use proxy::{Cut, Proxy};
use pushes::Push;
use user_objects::UserObject;
use world::World;

mod accounts;
mod apps;
mod atomicity;
mod bulk_replays;
mod coverage;
mod dropped_operations;
mod job_operations;
mod keyed_requests;
mod live;
mod proxy;
mod pushes;
mod reads;
mod recovery;
mod silent_connections;
mod user_objects;
mod world;

/// More statements than any operation has.
const ENOUGH: usize = 60;

/// An operation that is cut off, and the state in which it is executed.
pub(crate) trait CrashOperation: Copy + std::fmt::Debug {
    /// The user, and what the caller holds.
    type Setup;

    /// Whether the rules over jobs hold in its setup: not if the operation repairs a violation.
    fn keeps_job_rules(self) -> bool {
        true
    }

    /// Whether a repeat after success changes nothing.
    fn is_idempotent(self) -> bool {
        true
    }

    /// Creates a user with this id, in the state before the operation.
    async fn prepare(self, world: &World, user_id: &str) -> Self::Setup;

    /// Executes it.
    async fn execute(self, ledger: &Ledger, setup: &Self::Setup) -> Result<(), Error>;

    /// Lets the time pass that the operation asked for.
    async fn wait(self, _world: &World, _setup: &Self::Setup) {}

    /// Checks what must hold or be possible afterwards.
    async fn check_after(self, _world: &World, _setup: &Self::Setup, _position: &str) {}
}

/// Executes `operation` in a process whose connections end at the `statement`th statement. Returns `false` if it has
/// fewer, and succeeded.
async fn is_cut_off<O: CrashOperation>(
    world: &World,
    operation: O,
    setup: &O::Setup,
    statement: usize,
    cut: Cut,
) -> bool {
    let proxy = Proxy::start(&world.database.options()).await;
    let process = world.process(&proxy.options().application_name(CUT_OFF));
    process.db().now().await.unwrap();
    proxy.arm(statement, cut);
    let is_cut_off = {
        let executed = std::pin::pin!(operation.execute(&process, setup));
        let hung_up = std::pin::pin!(proxy.hung_up());
        match select(hung_up, executed).await {
            Either::Left(_) => true,
            // The operation may fail before the proxy reports the cut.
            Either::Right((answer, _)) => answer.is_err() || proxy.has_hung_up(),
        }
    };
    drop((process, proxy));
    // Rows that they locked would be skipped until then.
    world.database.until_nobody_is(CUT_OFF).await;
    is_cut_off
}

/// The application name of the process that is cut off.
const CUT_OFF: &str = "cut off";

/// Cuts the connection at every statement of `operation`. Returns the number of fault points.
async fn crash_everywhere(operation: JobOperation) -> usize {
    let world = World::new().await;
    let mut points = 0;
    for cut in [Cut::Before, Cut::After] {
        for statement in 1..=ENOUGH {
            assert!(statement < ENOUGH, "{operation:?} never ends");
            let setup = operation.prepare(&world, &format!("{operation:?}-{cut:?}-{statement}")).await;
            if !is_cut_off(&world, operation, &setup, statement, cut).await {
                operation.wait(&world, &setup).await;
                recovery::recover_and_check(&world, &format!("{operation:?}, uncut")).await;
                break;
            }
            points += 1;
            let position = format!("{operation:?}, {cut:?} statement {statement}");
            recovery::check_owners(&world, &position).await;
            if cut == Cut::After {
                // A caller without an answer repeats the request; a refusal is as good.
                let _answered = operation.execute(&world.ledger(), &setup).await;
                recovery::check_owners(&world, &position).await;
            }
            operation.wait(&world, &setup).await;
            recovery::recover_and_check(&world, &position).await;
        }
    }
    points
}

macro_rules! crashes {
    ($check:path: $($name:ident: $kind:ident { $($operation:ident),+ };)+) => {
        $(#[tokio::test]
        async fn $name() {
            for operation in [$($kind::$operation),+] {
                let points = $check(operation).await;
                println!("{operation:?}: {points} fault points");
                assert!(points >= 2, "{operation:?} was cut off {points} times");
            }
        })+
    };
}

crashes! { crash_everywhere:
    crash_in_admission_loses_no_job: JobOperation { Create, CreateParked, CreateWithKeys, Defer, Finalize, FinalizeAgain, AdmitAbandoned, FinalizeWithKeys, Reprocess };
    crash_in_claim_loses_no_job: JobOperation { Claim, ClaimInTurn, ClaimRefused, ClaimUnreadable, ClaimTask, ClaimTaskOfDead, ClaimWithKeys };
    crash_in_run_loses_no_job: JobOperation { Renew, Checkpoint, ReplaceCheckpoint, Spend, Release, ReleaseLater, FailOnce, FailForGood, Park };
    crash_in_completion_loses_and_doubles_nothing: JobOperation { Complete, CompleteDiscarded };
    crash_in_reconcile_and_sweep_loses_no_job: JobOperation { ReconcileLease, ReconcileParked, ReconcilePoison, ReconcileTask, DeferJob, Sweep };
    crash_in_operator_action_loses_no_job: JobOperation { Replay, ReplayFromScratch, Settle, RunNow, Cancel, Prune };
    crash_in_deletion_and_user_change_loses_no_job: JobOperation { Delete, DeleteCompleted, RequireByok };
    crash_in_webhook_delivery_loses_no_delivery: JobOperation { ClaimDelivery, KeepBody, FinishDelivery, FailDelivery, EndpointGone };
}

crashes! { atomicity::assert_atomic:
    append_and_keyed_requests_are_atomic: KeyedRequest {
        Append, AppendWithKey, CreateWithKey, DeferWithKey, FinalizeWithKey, EndLiveWithKey, ReprocessWithKey, StoreAnswer,
        DeleteAnswered, ForgetOldKeys
    };
    reminder_and_push_operations_are_atomic: Push { Fire, FireOfCompletedItem, Claim, ClaimOfDeadSender, ClaimOfCompletedItem, GiveUp, Deliver, Fail, SubscriptionGone };
    bulk_replay_operations_are_atomic: BulkReplay { Start, Step, StepRefused, StepRest, StepDone, Pause, Resume, Cancel, Follow };
    app_operations_are_atomic: App { Create, Store, Delete, Install, Uninstall, CreateKey, UseKey, Admit, RevokeKey, SwitchOff, SwitchOn, Fail, Send, ClaimPush, FinishPush, Locate, ForgetLocation };
    live_conversation_operations_are_atomic: Live { Open, Resume, Append, Grow, Assign, Photo, Close, Admit, NoteUsage };
    user_object_operations_are_atomic: UserObject { Rename, CreateFolder, ChangeFolder, DeleteFolder, CreateGoal, ChangeGoal, Progress, DeleteGoal, CreateItems, ChangeDueDate, CompleteItem, DeleteItem, CreateMemories, ChangeMemory, DeleteMemory, AddPerson, RenamePerson, ForgetPerson, BeginTurn, RenewTurn, WriteInTurn, FinishTurn, ClearChat, Index, IndexItems };
    key_endpoint_and_subscription_operations_are_atomic: Account { CreateUser, CreateKey, AddKey, UseKey, RevokeKey, CreateEndpoint, ChangeEndpoint, RotateSecret, DeleteEndpoint, EnableEndpoint, TestDelivery, Redeliver, RedeliverForOperator, Recover, RecoverForOperator, TryDelivery, TryEndpoint, Subscribe, Unsubscribe };
    operator_record_operations_are_atomic: Account { PauseQueue, ResumeQueue, Recount, Report, ForgetProcess };
    audio_webhook_operations_are_atomic: Account { SetAudioWebhook, SwitchAudioWebhook, NoteAudioOutcome };
}
