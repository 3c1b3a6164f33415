//! Both ways to take work, by bells and from the rows themselves: each takes what is due in its own queue, passes by
//! what somebody holds, and moves nobody else's bells.

use chrono::Duration;
use job::{FailureCode, Job, JobId, Queue, WorkerId};
use ledger::{Edge, Ledger, Settings};

use crate::world::{World, said, worker};

/// A process of either kind.
fn process(world: &World, bells: bool) -> Ledger {
    Ledger::new(world.database.options(), Settings { bells, ..Settings::default() })
}

/// One job in each queue.
async fn one_in_each(world: &World) -> (JobId, JobId) {
    let creation = world.admitted("created").await;
    let id = world.deferred("finalized").await;
    world.ledger.append_segments(&world.ann, &id, &[said("s")]).await.unwrap().unwrap();
    let finalization = world.ledger.finalize(&world.ann, &id, None).await.unwrap().unwrap().unwrap();
    (creation, finalization)
}

async fn taken(ledger: &Ledger, queue: Queue) -> Vec<JobId> {
    let w: WorkerId = worker("w");
    let taken = ledger.take(queue, &w, 10).await.unwrap();
    assert!(taken.answers.iter().all(|answer| *answer == "claimed"), "{:?}", taken.answers);
    taken.claims.into_iter().map(|claimed| claimed.job.id).collect()
}

/// The job after its former holder renewed in vain: it was late, and did not crash.
fn proven(job: Job) -> Job {
    Job { crashes: 0, crashed_epoch: None, ..job }
}

#[tokio::test]
async fn a_take_is_of_its_own_queue_alone() {
    for bells in [true, false] {
        let world = World::new().await;
        let (creation, finalization) = one_in_each(&world).await;
        let ledger = process(&world, bells);
        world.age(&finalization, Duration::hours(1)).await;
        let (now, next) = ledger.next_ring_at(Queue::Creation).await.unwrap().unwrap();
        assert!(now - next < Duration::minutes(30), "the next of its own queue, not of the other");
        assert_eq!(taken(&ledger, Queue::Creation).await, [creation]);
        assert_eq!(taken(&ledger, Queue::Creation).await, []);
        assert_eq!(taken(&ledger, Queue::Finalization).await, [finalization]);
        assert_eq!(ledger.next_ring_at(Queue::Creation).await.unwrap(), None);
    }
}

#[tokio::test]
async fn nothing_is_taken_before_its_time() {
    for bells in [true, false] {
        let world = World::new().await;
        let run = world.claimed("c").await;
        world.run("delete from finalization_bells").await;
        let code = FailureCode::ModelTimeout;
        let edge = Edge::Fail { code, retry_after: None, jitter_permille: 0 };
        world.ledger.settle(&run.holding(), edge).await.unwrap();
        assert_eq!(taken(&process(&world, bells), Queue::Creation).await, [], "it backs off");
        world.age(&run.job.id, Duration::minutes(2)).await;
        assert_eq!(taken(&process(&world, bells), Queue::Creation).await, [run.job.id]);
    }
}

#[tokio::test]
async fn a_take_waits_for_nobody() {
    for (bells, held) in [
        (
            true,
            "select from finalization_bells b join finalization_jobs using (job_id) \
            where conversation_id = 'a' for update of b",
        ),
        (true, "select from finalization_jobs where conversation_id = 'a' for update"),
        (false, "select from finalization_jobs where conversation_id = 'a' for update"),
    ] {
        let world = World::new().await;
        let (one, other) = (world.admitted("a").await, world.admitted("b").await);
        let mut holder = world.database.holding(held).await;
        let ledger = process(&world, bells);
        assert_eq!(taken(&ledger, Queue::Creation).await, [other]);
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        assert_eq!(taken(&ledger, Queue::Creation).await, [one]);
    }
}

#[tokio::test]
async fn a_renewal_waits_for_nobody() {
    let world = World::new().await;
    let (one, other) = (world.claimed("a").await, world.claimed("b").await);
    let _held =
        world.database.holding("select from finalization_jobs where conversation_id = 'a' for update").await;
    let asked = [one.holding(), other.holding()];
    let renewed = world.ledger.renew(&asked).await.unwrap();
    let until = |claimed: &ledger::Claimed| match &claimed.job.state {
        job::State::Leased(lease) => lease.expires_at,
        other => panic!("{other:?}"),
    };
    assert_eq!(renewed[0], ledger::Renewal::Renewed { until: until(&one) }, "it stands as it is");
    assert!(matches!(renewed[1], ledger::Renewal::Renewed { until: later } if later > until(&other)));
}

#[tokio::test]
async fn each_lease_is_renewed_under_its_own_claim() {
    let world = World::new().await;
    let (old, other) = (world.claimed("a").await, world.claimed("b").await);
    world.age(&old.job.id, Duration::seconds(31)).await;
    let new = world.claim(&old.job.id).await;
    let newer = world.claimed("c").await;
    assert_eq!(world.ledger.renew(&[old.holding()]).await.unwrap(), [ledger::Renewal::Lost]);
    let asked = [newer.holding(), old.holding(), other.holding()];
    let renewed = world.ledger.renew(&asked).await.unwrap();
    assert!(matches!(renewed[0], ledger::Renewal::Renewed { .. }));
    assert_eq!(renewed[1], ledger::Renewal::Lost);
    assert!(matches!(renewed[2], ledger::Renewal::Renewed { .. }));
    assert_eq!(world.job(&new.job.id).await, proven(new.job), "nobody else's word renews it");
    // The same where a row is held, and the lease is only looked at.
    let _held = world.database.holding("select from finalization_jobs for update").await;
    let held = world.ledger.renew(&asked).await.unwrap();
    assert!(matches!(held[0], ledger::Renewal::Renewed { .. }));
    assert_eq!(held[1], ledger::Renewal::Lost);
    assert!(matches!(held[2], ledger::Renewal::Renewed { .. }));
}

#[tokio::test]
async fn a_lease_is_not_renewed_under_the_epoch_of_another_that_is_asked_for_before_it() {
    let world = World::new().await;
    // `a` was taken over by this very process, which has `b` since its first claim and `c` no more.
    let first = world.claimed("a").await;
    let (other, lost) = (world.claimed("b").await, world.claimed("c").await);
    for job in [&first.job.id, &lost.job.id] {
        world.age(job, Duration::seconds(31)).await;
    }
    let again = world.claim(&first.job.id).await;
    let elsewhere = world.claim(&lost.job.id).await;
    assert_eq!((again.job.epoch.0, elsewhere.job.epoch.0, other.job.epoch.0), (2, 2, 1));
    for asked in [[&again, &other, &lost], [&other, &lost, &again]] {
        let asked = asked.map(|claimed| claimed.holding());
        let expected = asked.clone().map(|holding| holding != lost.holding());
        let kept = async || -> Vec<bool> {
            let renewed = world.ledger.renew(&asked).await.unwrap();
            renewed.into_iter().map(|one| matches!(one, ledger::Renewal::Renewed { .. })).collect()
        };
        assert_eq!(kept().await, expected);
        let mut holder = world.database.holding("select from finalization_jobs for update").await;
        assert_eq!(kept().await, expected, "of rows that somebody holds");
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    }
    assert_eq!(world.job(&elsewhere.job.id).await, proven(elsewhere.job), "nobody else's word renews it");
}

#[tokio::test]
async fn a_bell_that_is_answered_takes_no_other_along() {
    let world = World::new().await;
    let (one, other) = (world.admitted("a").await, world.admitted("b").await);
    // Each has a second bell, not due for a long time.
    world
        .run(
            "insert into finalization_bells select job_id, 2, 1, queue, now() + interval '1 day' \
                 from finalization_bells where ring = 1; \
             update finalization_bells set ring_at = now() + interval '1 day' \
                 where job_id = (select job_id from finalization_jobs where conversation_id = 'b')",
        )
        .await;
    assert_eq!(taken(&world.ledger, Queue::Creation).await, std::slice::from_ref(&one));
    let rings = async |job: &JobId| -> Vec<i64> {
        world.view(job).await.bells.into_iter().map(|(ring, _, _)| ring).collect()
    };
    assert_eq!((rings(&one).await, rings(&other).await), (vec![2], vec![1, 2]));
}

#[tokio::test]
async fn a_bell_that_is_moved_takes_no_other_along() {
    let world = World::new().await;
    let run = world.claimed("a").await;
    let other = world.admitted("b").await;
    let code = FailureCode::ModelTimeout;
    let edge = Edge::Fail { code, retry_after: None, jitter_permille: 0 };
    world.ledger.settle(&run.holding(), edge).await.unwrap();
    // It rings at once, though its job backs off for thirty seconds; the rest rings in a day.
    world
        .run(
            "delete from finalization_bells where ring = 1 and job_id in \
                 (select job_id from finalization_jobs where conversation_id = 'a'); \
             insert into finalization_bells select job_id, n, 1, queue, now() + interval '1 day' \
                 from finalization_jobs, generate_series(1, 3) n on conflict (job_id, ring) \
                 do update set ring_at = excluded.ring_at; \
             update finalization_bells set ring_at = now() where ring = 2 and job_id in \
                 (select job_id from finalization_jobs where conversation_id = 'a')",
        )
        .await;
    assert_eq!(world.answers(Queue::Creation).await, ["not_yet"]);
    let in_a_day = async |job: &JobId| -> Vec<i64> {
        let now = world.ledger.now().await.unwrap();
        let bells = world.view(job).await.bells.into_iter();
        bells.filter(|(_, _, at)| *at > now + Duration::hours(1)).map(|(ring, _, _)| ring).collect()
    };
    assert_eq!((in_a_day(&run.job.id).await, in_a_day(&other).await), (vec![1, 3], vec![1, 2, 3]));
}

#[tokio::test]
async fn what_cannot_be_stored_is_put_off_by_itself() {
    for bells in [true, false] {
        let world = World::new().await;
        let (_, finalization) = one_in_each(&world).await;
        let fine = world.admitted("fine").await;
        world.age(&finalization, Duration::hours(1)).await;
        // The job of `created` breaks whatever statement changes it.
        world
            .run(
                "create function refuse() returns trigger language plpgsql as \
                     $$begin raise exception 'no' using errcode = '23514'; end$$; \
                 create trigger refuse before update on finalization_jobs for each row \
                     when (new.conversation_id = 'created') execute function refuse(); \
                 update finalization_bells b set ring_at = ring_at - interval '1 minute' \
                     from finalization_jobs j where j.job_id = b.job_id and j.conversation_id = 'created'",
            )
            .await;
        let ledger = process(&world, bells);
        let taken = ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap();
        assert_eq!(taken.answers, ["error", "claimed"]);
        assert_eq!(taken.claims[0].job.id, fine);
        let put_off = "select count(*) from finalization_bells where ring_at > now() + interval '4 minutes'";
        assert_eq!(world.count(put_off).await, i64::from(bells));
        let other = ledger.take(Queue::Finalization, &worker("w"), 10).await.unwrap();
        assert_eq!(other.answers, ["claimed"], "the other queue's stays");
    }
}

#[tokio::test]
async fn who_takes_rows_themselves_rings_no_bells() {
    let world = World::new().await;
    let inline = process(&world, false);
    inline.create_conversation(&world.ann, crate::world::talk("c")).await.unwrap();
    let taken = inline.take(Queue::Creation, &worker("w"), 1).await.unwrap();
    let code = FailureCode::ModelTimeout;
    let edge = Edge::Fail { code, retry_after: None, jitter_permille: 0 };
    inline.settle(&taken.claims[0].holding(), edge).await.unwrap();
    assert_eq!(world.count("select count(*) from finalization_bells").await, 0);
    assert_eq!(world.count("select count(*) from finalization_jobs where unrung").await, 0);
}
