//! Crash at every statement: each verb is cut off before its first statement, after it, before its second, and so on
//! to the lost answer of its commit; then everything is recovered by those who remain, and checked.
//!
//! The fault points lie between the ledger and the server, in [`proxy`]: it reads PostgreSQL's protocol, counts
//! statements, and hangs up. So every statement of a verb is one, the commit included, no product code knows of it, and
//! a statement that is added tomorrow is cut off too.
//!
//! A verb that moves a job is followed by those who repair, and by rules over jobs ([`verbs`], [`recovery`]). What
//! changes no job is one transaction, and compared with itself uncut ([`whole`]). That no public verb which writes is
//! left out is a test, too ([`listed`]).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod abandoned;
mod apps;
mod bulks;
mod listed;
mod live;
mod objects;
mod owned;
mod proxy;
mod pushes;
mod reads;
mod recovery;
mod silent;
mod verbs;
mod whole;
mod words;
mod world;

use apps::App;
use bulks::Bulk;
use db::Error;
use futures::future::{Either, select};
use ledger::Ledger;
use live::Live;
use objects::Thing;
use owned::Owned;
use proxy::{Cut, Proxy};
use pushes::Push;
use verbs::Verb;
use words::Words;
use world::World;

/// More statements than any verb has.
const ENOUGH: usize = 60;

/// What is cut off: a verb, and the scene in which it is said.
pub(crate) trait Said: Copy + std::fmt::Debug {
    /// Whom it is about, and what its caller holds.
    type Scene;

    /// Whether the rules over jobs hold in its scene: not where the verb is there to mend what breaks one.
    fn is_set_in_a_sound_world(self) -> bool {
        true
    }

    /// Whether it may be said again once it is done, and nothing more comes of it.
    fn is_harmless_twice(self) -> bool {
        true
    }

    /// Brings a fresh person of this name to where the verb finds her.
    async fn prepare(self, world: &World, person: &str) -> Self::Scene;

    /// Says it.
    async fn say(self, ledger: &Ledger, scene: &Self::Scene) -> Result<(), Error>;

    /// Lets the time pass that the verb asked for.
    async fn wait(self, _world: &World, _scene: &Self::Scene) {}

    /// What must be possible in the end, once it has been said.
    async fn afterwards(self, _world: &World, _scene: &Self::Scene, _place: &str) {}
}

/// Says `verb` in a process whose connections end at the `statement`th. `false`: it has no more than that, and was done.
async fn is_cut_off<V: Said>(world: &World, verb: V, scene: &V::Scene, statement: usize, cut: Cut) -> bool {
    let proxy = Proxy::start(&world.database.options()).await;
    let doomed = world.process(&proxy.options().application_name(DOOMED));
    doomed.db().now().await.unwrap();
    proxy.arm(statement, cut);
    let is_cut_off = {
        let said = std::pin::pin!(verb.say(&doomed, scene));
        let hung_up = std::pin::pin!(proxy.hung_up());
        match select(hung_up, said).await {
            Either::Left(_) => true,
            // An operation may notice that its connection went before the proxy reports the cut.
            Either::Right((answer, _)) => answer.is_err() || proxy.has_hung_up(),
        }
    };
    drop((doomed, proxy));
    // What they locked is skipped until then.
    world.database.until_nobody_is(DOOMED).await;
    is_cut_off
}

/// What the sessions of a process that is to be cut off are called.
const DOOMED: &str = "doomed";

/// Cuts `verb` off at every statement. Answers how many fault points it has.
async fn crash_everywhere(verb: Verb) -> usize {
    let world = World::new().await;
    let mut points = 0;
    for cut in [Cut::Before, Cut::After] {
        for statement in 1..=ENOUGH {
            assert!(statement < ENOUGH, "{verb:?} never ends");
            let scene = verb.prepare(&world, &format!("{verb:?}-{cut:?}-{statement}")).await;
            if !is_cut_off(&world, verb, &scene, statement, cut).await {
                verb.wait(&world, &scene).await;
                recovery::recover_and_check(&world, &format!("{verb:?}, uncut")).await;
                break;
            }
            points += 1;
            let place = format!("{verb:?}, {cut:?} statement {statement}");
            recovery::check_owners(&world, &place).await;
            if cut == Cut::After {
                // A caller without an answer repeats; a refusal is as good.
                let _answered = verb.say(&world.ledger(), &scene).await;
                recovery::check_owners(&world, &place).await;
            }
            verb.wait(&world, &scene).await;
            recovery::recover_and_check(&world, &place).await;
        }
    }
    points
}

macro_rules! crashes {
    ($how:path: $($name:ident: $kind:ident { $($verb:ident),+ };)+) => {
        $(#[tokio::test]
        async fn $name() {
            for verb in [$($kind::$verb),+] {
                let points = $how(verb).await;
                println!("{verb:?}: {points} fault points");
                assert!(points >= 2, "{verb:?} was cut off {points} times");
            }
        })+
    };
}

crashes! { crash_everywhere:
    no_statement_of_an_admission_can_lose_a_job: Verb { Create, CreateParked, CreateWithKeys, Defer, Finalize, FinalizeAgain, AdmitAbandoned, FinalizeWithKeys, Reprocess };
    no_statement_of_a_claim_can_lose_a_job: Verb { Claim, ClaimInTurn, ClaimRefused, ClaimUnreadable, ClaimTask, ClaimTaskOfDead, ClaimWithKeys };
    no_statement_of_a_run_can_lose_a_job: Verb { Renew, Checkpoint, CheckpointAnew, Spend, Release, ReleaseLater, FailOnce, FailForGood, Park };
    no_statement_of_a_completion_can_lose_or_double_anything: Verb { Complete, CompleteDiscarded };
    no_statement_of_a_repair_can_lose_a_job: Verb { ReconcileLease, ReconcileParked, ReconcilePoison, ReconcileTask, DeferJob, Sweep };
    no_statement_of_an_operator_can_lose_a_job: Verb { Replay, ReplayFromScratch, Settle, RunNow, Cancel, Prune };
    no_statement_of_a_person_can_lose_a_job: Verb { Delete, DeleteCompleted, Mark };
    no_statement_of_the_fan_out_can_lose_a_delivery: Verb { ClaimDelivery, KeepBody, FinishDelivery, FailDelivery, LoseEndpoint };
}

crashes! { whole::crash_everywhere:
    no_statement_of_an_append_or_a_named_request_is_half_done: Words {
        Append, AppendNamed, CreateNamed, DeferNamed, FinalizeNamed, EndLiveNamed, ReprocessNamed, KeepAnswer,
        ForgetAnswer, ForgetNames
    };
    no_statement_of_a_reminder_can_lose_or_double_a_push: Push { Fire, FireLate, Claim, ClaimDead, ClaimClosed, GiveUp, Deliver, Fail, LoseSubscription };
    no_statement_of_a_bulk_replay_can_lose_or_double_an_item: Bulk { Start, Take, TakeOver, Step, StepRefused, StepRest, StepDone, Pause, Resume, Cancel, Follow };
    no_statement_of_an_app_is_half_done: App { Create, Store, Delete, Install, Uninstall, CreateKey, ShowKey, Admit, RevokeKey, SwitchOff, SwitchOn, Fail, Send, ClaimPush, FinishPush, Locate, Forget };
    no_statement_of_a_live_conversation_is_half_done: Live { Open, Resume, Append, Grow, Assign, Photo, Close, Admit, NoteUsage };
    no_statement_about_a_persons_things_is_half_done: Thing { Rename, CreateFolder, ChangeFolder, DeleteFolder, CreateGoal, ChangeGoal, Progress, DeleteGoal, CreateItems, MoveItem, EndItem, DeleteItem, CreateMemories, ChangeMemory, DeleteMemory, Know, RenamePerson, Forget, BeginTurn, RenewTurn, WriteInTurn, FinishTurn, ClearChat, Index, IndexThings };
    no_statement_about_who_is_told_is_half_done: Owned { CreateUser, CreateKey, AddKey, ShowKey, RevokeKey, CreateEndpoint, ChangeEndpoint, RotateSecret, DeleteEndpoint, EnableEndpoint, TestDelivery, Redeliver, RedeliverForOperator, Recover, RecoverForOperator, TryDelivery, TryEndpoint, Subscribe, Unsubscribe };
    no_statement_of_an_operators_record_is_half_done: Owned { PauseQueue, ResumeQueue, Recount, PruneLetters, Report, ForgetProcess };
    no_change_of_an_audio_webhook_is_half_done: Owned { SetAudioWebhook, SwitchAudioWebhook, NoteAudioOutcome };
}
