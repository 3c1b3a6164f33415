//! A migration beneath a running process: the server refuses every kept plan that answers another row than before.

use db::Migrated;
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

/// `listen migrate` beside every start, by a role that owns nothing: where all is there, it creates nothing.
#[tokio::test]
async fn a_role_without_rights_to_create_finds_a_schema_that_is_up_to_date() {
    let world = World::new().await;
    let role = format!("reader_of_{}", world.database.name());
    world.database.run(&format!("create role {role}; grant select on _sqlx_migrations to {role}")).await;
    let reader =
        Ledger::new(world.database.options().options([("role", role.as_str())]), Settings::default());
    assert_eq!(reader.db().migrate().await.unwrap(), Migrated::Applied(Vec::new()));

    world.run("update _sqlx_migrations set checksum = '' where version = (select min(version) from _sqlx_migrations)").await;
    assert!(reader.db().migrate().await.is_err(), "what was applied with other contents is another schema");
    reader.db().close().await;
    world.database.run(&format!("drop owned by {role}; drop role {role}")).await;
}
