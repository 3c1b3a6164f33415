//! What the lease watch, the reconciler and the sweep find: due work only, and no locked rows.

use chrono::Duration;
use job::{JobId, Outcome, Queue};
use ledger::{Results, Transition};
use records::{ConversationId, UserId};

use crate::world::{World, completion, new_conversation, segment};

/// Four jobs in different states: queued, leased, parked and completed.
async fn one_of_each(world: &World) -> [JobId; 4] {
    let queued = world.admitted("queued").await;
    let leased = world.claimed("leased").await;
    let parked = world.claimed("parked").await;
    world.ledger.settle(&parked.lease_token(), Transition::Park, None).await.unwrap();
    let done = world.claimed("done").await;
    let completed = completion(&done, Outcome::Discarded, Results::default());
    world.ledger.complete(&completed).await.unwrap();
    [queued, leased.job.id, parked.job.id, done.job.id]
}

fn ids(page: db::KeysetPage<(UserId, JobId)>) -> Vec<JobId> {
    page.found.into_iter().map(|(_, job)| job).collect()
}

#[tokio::test]
async fn nothing_is_due_before_its_time() {
    let world = World::new().await;
    one_of_each(&world).await;
    assert_eq!(ids(world.ledger.due_page(None, 9).await.unwrap()), []);
    assert_eq!(ids(world.ledger.expired_leases(None, 9).await.unwrap()), []);
}

#[tokio::test]
async fn due_page_and_expired_leases_find_parked_and_leased_jobs() {
    let world = World::new().await;
    let [queued, leased, parked, done] = one_of_each(&world).await;
    for (days, job) in [(60, &parked), (50, &leased), (40, &queued), (40, &done)] {
        world.age(job, Duration::days(days)).await;
    }
    assert_eq!(ids(world.ledger.due_page(None, 9).await.unwrap()), std::slice::from_ref(&parked));
    assert_eq!(ids(world.ledger.expired_leases(None, 9).await.unwrap()), std::slice::from_ref(&leased));
    assert_eq!(world.claimed_ids(Queue::Creation).await, [queued], "the queue is the job table");
}

#[tokio::test]
async fn due_pages_keep_to_their_limit() {
    let world = World::new().await;
    for id in ["one", "other"] {
        let queued = world.admitted(&format!("{id} queued")).await;
        let leased = world.claimed(&format!("{id} leased")).await;
        let parked = world.claimed(&format!("{id} parked")).await;
        world.ledger.settle(&parked.lease_token(), Transition::Park, None).await.unwrap();
        for job in [&queued, &leased.job.id, &parked.job.id] {
            world.age(job, Duration::days(60)).await;
        }
        let left = world.deferred(&format!("{id} left")).await;
        world.ledger.store().append_segments(&world.ann, &left, &[segment("s")]).await.unwrap().unwrap();
    }
    world.run("update conversations set last_append_at = clock_timestamp() - interval '25 hours'").await;
    for (limit, found) in [(1, 1), (2, 2), (3, 2)] {
        assert_eq!(world.ledger.due_page(None, limit).await.unwrap().found.len(), found);
        assert_eq!(world.ledger.expired_leases(None, limit).await.unwrap().found.len(), found);
        assert_eq!(world.ledger.abandoned_page(None, limit).await.unwrap().found.len(), found);
    }
}

#[tokio::test]
async fn due_page_and_expired_leases_skip_locked_jobs() {
    let world = World::new().await;
    let [queued, leased, parked, _] = one_of_each(&world).await;
    for job in [&queued, &leased, &parked] {
        world.age(job, Duration::days(60)).await;
    }
    let _held =
        world.database.hold_locks("select from finalization_jobs where status <> 'queued' for update").await;
    assert_eq!(ids(world.ledger.due_page(None, 9).await.unwrap()), []);
    assert_eq!(ids(world.ledger.expired_leases(None, 9).await.unwrap()), []);
}

/// A conversation in `processing` for `seconds`, without a job.
async fn stuck(world: &World, user: &UserId, id: &str, seconds: i64) {
    world.ledger.create_conversation(user, new_conversation(id), None).await.unwrap();
    for (statement, by) in [
        (
            "delete from finalization_jobs where user_id = $1 and conversation_id = $2 and $3::bigint > 0",
            seconds,
        ),
        (
            "update conversations set updated_at = clock_timestamp() - make_interval(secs => $3) \
                 where user_id = $1 and conversation_id = $2",
            seconds,
        ),
    ] {
        sqlx::query(statement).bind(user.as_str()).bind(id).bind(by).execute(&world.pool).await.unwrap();
    }
}

/// The conversations that a sweep failed, sorted.
async fn swept(world: &World) -> Vec<(String, String)> {
    let key = |(user, conversation): (UserId, ConversationId)| (user.to_string(), conversation.to_string());
    let mut swept: Vec<_> =
        world.ledger.sweep_processing(None, 9).await.unwrap().found.into_iter().map(key).collect();
    swept.sort();
    swept
}

fn pairs(keys: &[(&str, &str)]) -> Vec<(String, String)> {
    keys.iter().map(|(user, id)| ((*user).to_owned(), (*id).to_owned())).collect()
}

#[tokio::test]
async fn sweep_fails_processing_conversations_without_a_job_after_15_minutes() {
    let world = World::new().await;
    let bob = UserId::new("bob");
    assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
    stuck(&world, &world.ann, "old", 901).await;
    stuck(&world, &world.ann, "young", 800).await;
    // Bob's `old` and Ann's `alive` have a live job; Ann's `died` had one.
    for (user, id) in [(&bob, "old"), (&world.ann, "alive"), (&world.ann, "died")] {
        world.ledger.create_conversation(user, new_conversation(id), None).await.unwrap();
    }
    world
        .run(
            "update finalization_jobs set status = 'completed', outcome = 'withdrawn', finished_at = now(), \
                 ready_at = null, reconcile_after_at = null where conversation_id = 'died'; \
             update conversations set updated_at = updated_at - interval '1 hour' \
                 where conversation_id in ('alive', 'died') or user_id = 'bob'",
        )
        .await;
    stuck(&world, &world.ann, "done", 901).await;
    world.run("update conversations set status = 'completed' where conversation_id = 'done'").await;
    assert_eq!(swept(&world).await, pairs(&[("ann", "died"), ("ann", "old")]));
    let failed =
        "select count(*) from conversations where status = 'failed' and discarded and discarded_by_failure";
    assert_eq!(world.count(failed).await, 2);
    assert_eq!(swept(&world).await, pairs(&[]));
}

#[tokio::test]
async fn sweep_skips_locked_conversations() {
    let world = World::new().await;
    stuck(&world, &world.ann, "held", 901).await;
    stuck(&world, &world.ann, "free", 901).await;
    let mut holder = world
        .database
        .hold_locks("select from conversations where conversation_id = 'held' for update")
        .await;
    assert_eq!(swept(&world).await, pairs(&[("ann", "free")]));
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(swept(&world).await, pairs(&[("ann", "held")]));
}

#[tokio::test]
async fn sweep_passes_over_a_conversation_that_cannot_be_changed() {
    let world = World::new().await;
    for id in ["a", "bad", "c"] {
        stuck(&world, &world.ann, id, 901).await;
    }
    world
        .run(
            "create function refuse() returns trigger language plpgsql as \
                 $$begin raise exception 'no'; end$$; \
             create trigger refuse before update on conversations for each row \
                 when (old.conversation_id = 'bad') execute function refuse()",
        )
        .await;
    assert_eq!(swept(&world).await, pairs(&[("ann", "a"), ("ann", "c")]));
    world.run("drop trigger refuse on conversations").await;
    assert_eq!(swept(&world).await, pairs(&[("ann", "bad")]));
}

#[tokio::test]
async fn abandoned_conversations_are_found_and_admitted_after_a_day() {
    let world = World::new().await;
    for id in ["left", "fresh", "failed"] {
        let id = world.deferred(id).await;
        world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
    }
    world
        .run(
            "update conversations set last_append_at = clock_timestamp() - interval '23 hours 59 minutes'; \
             update conversations set last_append_at = clock_timestamp() - interval '25 hours' \
                 where conversation_id <> 'fresh'; \
             update conversations set status = 'failed' where conversation_id = 'failed'",
        )
        .await;
    let page = world.ledger.abandoned_page(None, 9).await.unwrap().found;
    assert!(matches!(&page[..], [(user, id)] if *user == world.ann && id.as_str() == "left"), "{page:?}");
    let mut admitted = Vec::new();
    for id in ["left", "fresh", "failed"] {
        admitted.push(world.ledger.admit_abandoned(&world.ann, &ConversationId::new(id)).await.unwrap());
    }
    assert_eq!(admitted, [true, false, false]);
    assert!(!world.ledger.admit_abandoned(&world.ann, &ConversationId::new("left")).await.unwrap());
    assert_eq!(world.count("select count(*) from finalization_jobs where not force_process").await, 1);
}
