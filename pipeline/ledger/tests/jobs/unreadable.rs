//! A row that no type can express fails only itself.

use chrono::Duration;
use db::Error;
use ledger::Renewal;

use crate::world::World;

/// Writes nonsense into the status of one conversation's job, as no verb of ours could.
async fn spoil(world: &World, conversation: &str) {
    world.run("alter table finalization_jobs drop constraint if exists status_known").await;
    world.run("alter table finalization_jobs drop constraint if exists queued_has_ready_at").await;
    world.run("alter table finalization_jobs drop constraint if exists lease_iff_leased").await;
    sqlx::query("update finalization_jobs set status = 'nonsense' where conversation_id = $1")
        .bind(conversation)
        .execute(&world.pool)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_unreadable_job_is_an_error_with_its_id_and_can_be_deferred() {
    let world = World::new().await;
    let job = world.claimed("a").await.job.id;
    world.age(&job, Duration::seconds(301)).await;
    world.run("alter table finalization_jobs drop constraint origin_known").await;
    world.run("update finalization_jobs set origin = 'nonsense'").await;
    assert_eq!(world.ledger.expired_leases(None, 10).await.unwrap().found.len(), 1);
    match world.ledger.reconcile(&job).await.unwrap_err() {
        Error::ImpossibleRow { table, id, column } => {
            assert_eq!((table, id.as_str(), column), ("finalization_jobs", job.as_str(), "origin"));
        }
        other => panic!("{other:?}"),
    }
    world.ledger.defer(&world.ann, &job).await.unwrap();
    assert!(world.ledger.expired_leases(None, 10).await.unwrap().found.is_empty());
}

#[tokio::test]
async fn an_unreadable_job_costs_no_other_lease() {
    let world = World::new().await;
    let spoiled = world.claimed("a").await;
    let sound = world.claimed("b").await;
    spoil(&world, "a").await;
    let renewals = world.ledger.renew(&[spoiled.lease_token(), sound.lease_token()]).await.unwrap();
    assert_eq!(renewals[0], Renewal::Lost);
    assert!(matches!(renewals[1], Renewal::Renewed { .. }), "{renewals:?}");
}
