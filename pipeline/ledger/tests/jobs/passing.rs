//! Which of a database's refusals may pass: those of its own state, and not those of what was asked for.

use job::FailureCode;
use ledger::Edge;

use crate::world::World;

/// Whether `settle` says of what the database refuses with each of these codes that it may pass.
async fn pass<const N: usize>(codes: [&str; N]) -> [bool; N] {
    let world = World::new().await;
    let holding = world.claimed("c").await.holding();
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
        let edge = Edge::Fail { code: FailureCode::InvalidJob, retry_after: None, jitter_permille: 0 };
        let error = world.ledger.settle(&holding, edge).await.unwrap_err();
        assert_eq!(error.sqlstate().as_deref(), Some(*code));
        assert_eq!(error.refusal(), Some(format!("no (SQLSTATE {code})")));
        *pass = error.is_passing();
    }
    pass
}

#[tokio::test]
async fn what_the_database_cannot_do_just_now_may_pass() {
    // A connection, a conflict, a deadlock, a full disk, a lock, a cancel, a broken disk, an idle transaction.
    let codes = ["08006", "40001", "40P01", "53100", "55P03", "57014", "58030", "25P03"];
    assert_eq!(pass(codes).await, [true; 8], "{codes:?}");
}

#[tokio::test]
async fn what_it_refuses_for_good_does_not() {
    // A rule, a right, a read-only transaction, an object that is in use, and what is not supported, which an outdated plan is
    // said with, too.
    let codes = ["23514", "42501", "25006", "55006", "0A000"];
    assert_eq!(pass(codes).await, [false; 5], "{codes:?}");
}
