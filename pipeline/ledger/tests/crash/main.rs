//! Crash at every statement: each verb is cut off before its first statement, after it, before its second, and so on
//! to the lost answer of its commit; then everything is recovered by those who remain, and checked.
//!
//! The fault points lie between the ledger and the server, in [`proxy`]: it reads PostgreSQL's protocol, counts
//! statements, and hangs up. So every statement of a verb is one, the commit included, no product code knows of it, and
//! a statement that is added tomorrow is cut off too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod proxy;
mod recovery;
mod silent;
mod verbs;
mod world;

use futures::future::{Either, select};
use proxy::{Cut, Proxy};
use verbs::Verb;
use world::World;

/// More statements than any verb has.
const ENOUGH: usize = 60;

/// Cuts `verb` off at every statement. Answers how many fault points it has.
async fn crash_everywhere(verb: Verb) -> usize {
    let world = World::new().await;
    let mut points = 0;
    for cut in [Cut::Before, Cut::After] {
        for statement in 1..=ENOUGH {
            assert!(statement < ENOUGH, "{verb:?} never ends");
            let scene = verb.prepare(&world, statement, cut).await;
            let proxy = Proxy::start(&world.database.options()).await;
            let doomed = world.process(&proxy.options(), verb.has_bells());
            doomed.now().await.unwrap();
            proxy.arm(statement, cut);
            let died = {
                let said = std::pin::pin!(verb.say(&doomed, &scene));
                let hung_up = std::pin::pin!(proxy.hung_up());
                match select(hung_up, said).await {
                    Either::Left(_) => true,
                    Either::Right((answer, _)) => {
                        // A verb may notice that its connection went before we are told that it was cut.
                        answer.is_err() || proxy.has_hung_up()
                    }
                }
            };
            if !died {
                recovery::recover_and_check(&world, &format!("{verb:?}, uncut")).await;
                break;
            }
            points += 1;
            let place = format!("{verb:?}, {cut:?} statement {statement}");
            recovery::check_owners(&world, &place).await;
            if cut == Cut::After {
                // Whoever got no answer says it again; a refusal is as good.
                let _answered = verb.say(&world.ledger(verb.has_bells()), &scene).await;
                recovery::check_owners(&world, &place).await;
            }
            recovery::recover_and_check(&world, &place).await;
        }
    }
    points
}

macro_rules! crashes {
    ($($name:ident: $($verb:ident),+;)+) => {
        $(#[tokio::test]
        async fn $name() {
            for verb in [$(Verb::$verb),+] {
                let points = crash_everywhere(verb).await;
                println!("{verb:?}: {points} fault points");
                assert!(points >= 2, "{verb:?} was cut off {points} times");
            }
        })+
    };
}

crashes! {
    no_statement_of_an_admission_can_lose_a_job: Create, CreateParked, Defer, Finalize, FinalizeAgain, AdmitAbandoned, FinalizeWithKeys, Reprocess;
    no_statement_of_a_claim_can_lose_a_job: Take, TakeInline, TakeDead, Claim, ClaimWithKeys;
    no_statement_of_a_run_can_lose_a_job: Renew, Checkpoint, Spend, Release, ReleaseLater, FailOnce, FailForGood, Park;
    no_statement_of_a_completion_can_lose_or_double_anything: Complete, CompleteDiscarded;
    no_statement_of_a_repair_can_lose_a_job: ReconcileLease, ReconcileQueued, ReconcileParked, ReconcilePoison, Sweep;
    no_statement_of_an_operator_can_lose_a_job: Replay, Settle, Prune;
    no_statement_of_a_person_can_lose_a_job: Delete, DeleteCompleted, Mark;
    no_statement_of_the_fan_out_can_lose_a_delivery: ClaimDelivery, KeepBody, FinishDelivery, FailDelivery, LoseEndpoint;
}
