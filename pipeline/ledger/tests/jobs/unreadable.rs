//! A row that no type can express stops nobody but itself.

use chrono::Duration;
use job::Queue;
use ledger::{Error, Ledger, Renewal, Settings};

use crate::world::{World, worker};

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
async fn an_unreadable_job_stops_no_take() {
    let world = World::new().await;
    for id in ["a", "b", "c"] {
        world.admitted(id).await;
    }
    spoil(&world, "a").await;
    assert_eq!(world.answers(Queue::Creation).await, ["error", "claimed", "claimed"]);
    assert!(world.answers(Queue::Creation).await.is_empty());
    let put_off =
        "select count(*) from finalization_bells where ring_at > clock_timestamp() + interval '4 minutes'";
    assert_eq!(world.count(put_off).await, 1);
}

#[tokio::test]
async fn an_unreadable_job_stops_no_take_without_bells() {
    let world = World::new().await;
    let inline = Ledger::new(world.database.options(), Settings { bells: false, ..Settings::default() });
    for id in ["a", "b"] {
        world.admitted(id).await;
    }
    world.run("alter table finalization_jobs drop constraint origin_known").await;
    world.run("update finalization_jobs set origin = 'nonsense' where conversation_id = 'a'").await;
    let taken = inline.take(Queue::Creation, &worker("w"), 5).await.unwrap();
    assert_eq!(taken.answers, ["error", "claimed"]);
    assert!(inline.take(Queue::Creation, &worker("w"), 5).await.unwrap().answers.is_empty());
}

#[tokio::test]
async fn an_unreadable_job_is_an_error_with_its_id_and_can_be_put_off() {
    let world = World::new().await;
    let job = world.admitted("a").await;
    spoil(&world, "a").await;
    world.age(&job, Duration::seconds(301)).await;
    assert_eq!(world.ledger.due_page(None, 10).await.unwrap().len(), 1);
    match world.ledger.reconcile(&world.ann, &job).await.unwrap_err() {
        Error::ImpossibleRow { table, id, column } => {
            assert_eq!((table, id.as_str(), column), ("finalization_jobs", job.as_str(), "status"));
        }
        other => panic!("{other:?}"),
    }
    world.ledger.put_off(&world.ann, &job).await.unwrap();
    assert!(world.ledger.due_page(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_unreadable_job_costs_no_other_lease() {
    let world = World::new().await;
    let spoiled = world.claimed("a").await;
    let sound = world.claimed("b").await;
    spoil(&world, "a").await;
    let renewals = world.ledger.renew(&[spoiled.holding(), sound.holding()]).await.unwrap();
    assert_eq!(renewals[0], Renewal::Lost);
    assert!(matches!(renewals[1], Renewal::Renewed { .. }), "{renewals:?}");
}
