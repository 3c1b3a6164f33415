//! A migration beneath a running process: the server refuses every kept plan that answers another row than before.

use futures::join;
use job::Queue;
use ledger::{Ledger, Settings};

use crate::{
    grown::street,
    world::{World, worker},
};

/// What the rule of `migrations/README.md` allows: a column without a default.
const ADDED: &str = "alter table finalization_jobs add column added_later bigint";

#[tokio::test]
async fn a_process_that_goes_on_over_a_migration_fails_once_and_puts_nothing_off() {
    let world = World::new().await;
    let ledger = Ledger::new(world.database.options(), Settings::default());
    street(&world, &ledger, "before").await;
    // Two at once, which wait for each other: two sessions are kept, and both have planned it.
    let w = worker("w");
    let mut holder = world.database.holding("lock table finalization_jobs in access exclusive mode").await;
    let watcher = world.database.watcher().await;
    let let_go = async {
        watcher.until_as_many_wait(2).await;
        sqlx::raw_sql("rollback").execute(&mut holder).await
    };
    let both = join!(ledger.take(Queue::Creation, &w, 1), ledger.take(Queue::Finalization, &w, 1), let_go);
    assert!(both.0.is_ok() && both.1.is_ok() && both.2.is_ok());
    world.run(ADDED).await;
    let job = world.admitted("meanwhile").await;
    let refused = ledger.take(Queue::Creation, &w, 1).await.unwrap_err();
    assert!(refused.is_passing(), "{refused}");
    let taken = ledger.take(Queue::Creation, &w, 1).await.unwrap();
    assert_eq!(taken.claims.len(), 1, "the bell was left as it was: {:?}", taken.answers);
    assert_eq!(taken.claims[0].job.id, job);
    // What was open then is used by no other verb either.
    street(&world, &ledger, "after").await;
}
