//! Which of a database's refusals may pass: those of its own state, and not those of what was asked for.

use std::time::Duration;

use job::{FailureCode, Queue};
use ledger::{Ledger, Settings};
use store::UserChange;

use crate::world::{World, fail, wanted};

/// Whether `settle` says of what the database refuses with each of these codes that it may pass.
async fn pass<const N: usize>(codes: [&str; N]) -> [bool; N] {
    let world = World::new().await;
    let token = world.claimed("c").await.lease_token();
    world
        .run(
            "create function refuse() returns trigger language plpgsql as $$begin end$$; \
             create trigger refuse before update on finalization_jobs for each row execute function refuse()",
        )
        .await;
    let mut pass = [false; N];
    for (code, pass) in codes.iter().zip(&mut pass) {
        let refuse = format!(
            "create or replace function refuse() returns trigger language plpgsql as \
                 $$begin raise exception 'no' using errcode = '{code}'; end$$"
        );
        world.database.run(&refuse).await;
        let transition = fail(FailureCode::InvalidJob);
        let error = world.ledger.settle(&token, transition, None).await.unwrap_err();
        assert_eq!(error.sqlstate().as_deref(), Some(*code));
        assert_eq!(error.refusal(), Some(format!("no (SQLSTATE {code})")));
        *pass = error.is_passing();
    }
    pass
}

#[tokio::test]
async fn what_the_database_cannot_do_just_now_may_pass() {
    // A connection, a conflict, a deadlock, a full disk, a lock, a cancel, a broken disk, an idle transaction, a server that only
    // reads.
    let codes = ["08006", "40001", "40P01", "53100", "55P03", "57014", "58030", "25P03", "25006"];
    assert_eq!(pass(codes).await, [true; 9], "{codes:?}");
}

#[tokio::test]
async fn what_it_refuses_for_good_does_not() {
    // A rule, a right, an object that is in use, and what is not supported, which an outdated plan is said with, too.
    let codes = ["23514", "42501", "55006", "0A000"];
    assert_eq!(pass(codes).await, [false; 4], "{codes:?}");
}

#[tokio::test]
async fn sessions_that_reach_a_server_which_only_reads_are_left_for_others() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    // As a session has it that was opened behind a failover, at the server that wrote before.
    let name = world.database.name();
    let reads = async |on: &str| {
        let said = format!(
            "begin read write; alter database {name} set default_transaction_read_only = {on}; commit"
        );
        world.database.run(&said).await;
    };
    reads("on").await;
    let ledger = Ledger::new(world.database.options(), Settings { connections: 1, ..Settings::default() });
    ledger.db().now().await.unwrap();
    let take = async || ledger.db().in_time(ledger.claim(&wanted(Queue::Creation, 1))).await;
    assert!(take().await.is_err_and(|error| error.is_passing()));
    reads("off").await;
    // The sessions that were opened meanwhile are left in their turn.
    let taken = async {
        loop {
            if let Ok(taken) = take().await {
                break taken;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let taken = tokio::time::timeout(Duration::from_secs(20), taken).await.expect("a new session writes");
    assert_eq!(taken.claims[0].job.id, job, "its bell was not put off");
    let change = UserChange::default();
    ledger.db().in_time(ledger.change_user(&world.ann, &change)).await.unwrap().unwrap();
}
