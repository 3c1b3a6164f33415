//! A migration beneath a running process: the server refuses every kept plan that answers another row than before.

use job::Queue;
use ledger::{Ledger, Settings};

use crate::{
    grown::street,
    world::{World, wanted},
};

/// What the rule of `migrations/README.md` allows: a column without a default.
const ADDED: &str = "alter table finalization_jobs add column added_later bigint";

#[tokio::test]
async fn a_migration_beneath_a_process_fails_one_claim_and_defers_nothing() {
    let world = World::new().await;
    let settings = Settings { connections: 1, ..Settings::default() };
    let ledger = Ledger::new(world.database.options(), settings);
    street(&world, &ledger, "before").await;
    world.run(ADDED).await;
    let job = world.admitted("meanwhile").await;
    let refused = ledger.claim(&wanted(Queue::Creation, 1)).await.unwrap_err();
    assert!(refused.is_passing(), "{refused}");
    let claims = ledger.claim(&wanted(Queue::Creation, 1)).await.unwrap();
    assert_eq!((claims.claims.len(), claims.deferred), (1, 0));
    assert_eq!(claims.claims[0].job.id, job);
    // The sessions that were open then are used by no other operation either.
    street(&world, &ledger, "after").await;
}
