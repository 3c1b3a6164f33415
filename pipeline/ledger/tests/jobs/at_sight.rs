//! A take goes by what it saw, and stores only what is so still. What changes between its look and its write is answered as it
//! stands then. Here the write begins when all has changed; of two that write at once, `races.rs` tells.

use std::time::{Duration, Instant};

use job::{JobId, Queue, State};
use ledger::{Ledger, Settings, Taken};

use crate::world::{World, worker};

/// Lets a look pass, and the write that follows it wait.
const BETWEEN: &str = "lock table finalization_jobs in share mode; ";

/// What a take answers between whose look and whose write `sql` is committed.
async fn overtaken(world: &World, sql: &str) -> Taken {
    let w = worker("w");
    let take = world.ledger.take(Queue::Creation, &w, 10);
    world.database.overtaken_by(&format!("{BETWEEN}{sql}"), take).await.unwrap()
}

async fn bells(world: &World) -> i64 {
    world.count("select count(*) from finalization_bells").await
}

#[tokio::test]
async fn what_nobody_changes_is_claimed_and_its_bell_is_gone() {
    let world = World::new().await;
    let job = world.admitted("a").await;
    let taken = overtaken(&world, "select").await;
    assert_eq!((taken.answers, taken.claims.len(), bells(&world).await), (vec!["claimed"], 1, 0));
    assert_eq!(taken.claims[0].job, world.job(&job).await);
}

#[tokio::test]
async fn a_job_that_changed_is_answered_as_it_stands() {
    let world = World::new().await;
    let job = world.admitted("a").await;
    let newer = "update finalization_jobs set version = version + 1, generation = generation + 1";
    let late = overtaken(&world, newer).await;
    assert_eq!((late.answers, late.quiet_for), (vec![], Some(Duration::ZERO)), "it is to look again soon");
    assert_eq!(world.answers(Queue::Creation).await, ["stale_generation"]);
    assert!(matches!(world.job(&job).await.state, State::Queued { .. }));
}

#[tokio::test]
async fn of_two_the_one_that_changed_waits_for_the_next_look() {
    let world = World::new().await;
    let (one, other) = (world.admitted("a").await, world.admitted("b").await);
    let changed = "update finalization_jobs set version = version + 1 where conversation_id = 'b'";
    let taken = overtaken(&world, changed).await;
    assert_eq!((taken.answers, taken.quiet_for), (vec!["claimed"], None), "there is more");
    assert_eq!(taken.claims[0].job.id, one);
    assert_eq!(world.count("select count(*) from finalization_bells").await, 1);
    assert_eq!(world.answers(Queue::Creation).await, ["claimed"]);
    assert!(matches!(world.job(&other).await.state, State::Leased(_)));
}

#[tokio::test]
async fn whose_bell_was_answered_moved_or_silenced_is_not_claimed() {
    for changed in [
        "delete from finalization_bells",
        "update finalization_bells set ring_at = now() + interval '1 hour'",
        "update finalization_bells set ring = 7",
        "insert into queue_pauses (queue, operator, reason, paused_at) values ('creation', 'olga', 'fire', now())",
    ] {
        let world = World::new().await;
        let job = world.admitted("a").await;
        assert_eq!(overtaken(&world, changed).await.answers, [""; 0], "{changed}");
        assert!(matches!(world.job(&job).await.state, State::Queued { .. }), "{changed}");
    }
}

#[tokio::test]
async fn what_is_paused_is_another_queue() {
    let world = World::new().await;
    world.admitted("a").await;
    let paused = "insert into queue_pauses (queue, operator, reason, paused_at) values ('finalization', 'olga', 'fire', now())";
    assert_eq!(overtaken(&world, paused).await.answers, ["claimed"]);
}

#[tokio::test]
async fn other_bells_of_a_job_stay_and_other_jobs() {
    let world = World::new().await;
    let (one, other) = (world.admitted("a").await, world.admitted("b").await);
    world
        .run(
            "update finalization_bells set ring_at = now() + interval '1 hour' where job_id = \
        (select job_id from finalization_jobs where conversation_id = 'b')",
        )
        .await;
    world.run("insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
        select job_id, ring + 1, dispatch_generation, queue, now() + interval '1 hour' from finalization_bells \
        where ring_at <= now()").await;
    let taken = world.ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap();
    assert_eq!((taken.answers, &taken.claims[0].job.id), (vec!["claimed"], &one));
    assert_eq!(bells(&world).await, 2);
    assert!(matches!(world.job(&other).await.state, State::Queued { .. }));
}

/// A lease counts from the look: one that is stored much later would be over early, or before it began. Where that is so each
/// time, bells are held first.
#[tokio::test]
async fn what_was_seen_long_ago_is_looked_at_again_and_then_held_first() {
    for _ in 0..10 {
        let world = World::new().await;
        world.admitted("a").await;
        let (late, took) = after_a_while(&world).await;
        let (held, took_again) = after_a_while(&world).await;
        // Nobody waits for a lock longer than two seconds: on a machine that stood still it went another way.
        if took.max(took_again) < Duration::from_millis(1_800) {
            assert_eq!((late, held), (vec![], vec!["claimed"]));
            return;
        }
    }
    panic!("this machine is too slow to tell a second from two");
}

/// What a take answers whose write waits for more than a second, and how long it took.
async fn after_a_while(world: &World) -> (Vec<&'static str>, Duration) {
    let mut slower = world.database.holding(BETWEEN).await;
    let ledger = world.ledger.clone();
    let began = Instant::now();
    let take = tokio::spawn(async move { ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap() });
    world.database.until_somebody_waits().await;
    // Time itself is what the test is about.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    sqlx::raw_sql("commit").execute(&mut slower).await.unwrap();
    (take.await.unwrap().answers, began.elapsed())
}

/// Whoever is told how long it is quiet asks nobody before.
#[tokio::test]
async fn a_take_says_how_long_it_is_quiet() {
    let world = World::new().await;
    let w = worker("w");
    let none = world.ledger.take(Queue::Creation, &w, 2).await.unwrap().quiet_for.unwrap();
    assert_eq!(none, Duration::from_secs(1), "then a look at the front is due");
    let (first, second) = (world.other_process(), world.other_process());
    for process in [&first, &second] {
        process.poll(&world.ann, &records::ConversationId::new("nothing")).await.unwrap();
    }
    let [one, ..] = [world.admitted("a").await, world.admitted("b").await, world.admitted("c").await];
    world
        .run(
            "update finalization_bells set ring_at = now() + interval '900 milliseconds' \
            where job_id = (select job_id from finalization_jobs where conversation_id = 'c')",
        )
        .await;
    let crowded = first.take(Queue::Creation, &w, 1).await.unwrap();
    assert_eq!(
        (&crowded.claims[0].job.id, crowded.quiet_for),
        (&one, None),
        "there is more than there was room for"
    );
    let room = second.take(Queue::Creation, &w, 1).await.unwrap();
    let quiet_for = room.quiet_for.expect("less than a second has passed");
    assert!(room.claims.len() == 1 && quiet_for < Duration::from_secs(1), "until the third: {quiet_for:?}");
}

/// A job whose run died, that often before, is claimed again.
async fn died(world: &World, crashes: i16) -> Taken {
    world.endpoint(&world.ann, "e", &[ledger::EventKind::ConversationFailed]).await;
    world.claimed("a").await;
    sqlx::query(
        "update finalization_jobs set version = version + 1, crashes = $1, \
            lease_claimed_at = now() - interval '1 minute', lease_expires_at = now() - interval '1 second', \
            reconcile_after_at = now() - interval '1 second'",
    )
    .bind(crashes)
    .execute(&world.pool)
    .await
    .unwrap();
    assert!(!world.is_woken());
    world.taken(Queue::Creation).await
}

/// A claim that is a job's last crash: its conversation fails with it, and whoever sends deliveries is woken.
#[tokio::test]
async fn what_dies_of_its_claim_is_told() {
    let world = World::new().await;
    let taken = died(&world, 4).await;
    assert_eq!((taken.answers, taken.dead_letters, taken.retries), (vec!["dead_letter"], 1, 0));
    let id = JobId::derive("ann", "a", 1);
    let last = world.ledger.job_page(&id).await.unwrap().unwrap().history.pop().unwrap();
    assert_eq!((last.verb.as_str(), last.code.as_deref()), ("claim", Some("poison_crash")));
    let poll = world.ledger.poll(&world.ann, &records::ConversationId::new("a")).await.unwrap().unwrap();
    assert_eq!((poll.status, poll.failure_code), ("dead_letter", Some("poison_crash")));
    assert_eq!(world.count("select count(*) from conversations where status = 'failed'").await, 1);
    assert!(world.is_woken());
}

#[tokio::test]
async fn what_is_claimed_after_a_crash_is_a_retry() {
    let world = World::new().await;
    let taken = died(&world, 0).await;
    assert_eq!((taken.answers, taken.dead_letters, taken.retries), (vec!["claimed"], 0, 1));
    assert!(!world.is_woken(), "nobody is told of it");
}

/// A queue in which two wait for one slot: the next take holds first. Jobs `a` and `b` are left.
async fn crowd(world: &World) {
    for id in ["x", "a", "b"] {
        world.admitted(id).await;
    }
    assert_eq!(world.ledger.take(Queue::Creation, &worker("w"), 1).await.unwrap().answers, ["claimed"]);
}

#[tokio::test]
async fn a_crowd_is_paused_as_well() {
    let world = World::new().await;
    crowd(&world).await;
    world
        .run(
            "insert into queue_pauses (queue, operator, reason, paused_at) \
            values ('creation', 'olga', 'fire', now())",
        )
        .await;
    assert_eq!(world.answers(Queue::Creation).await, [""; 0]);
    world.run("delete from queue_pauses").await;
    assert_eq!(world.answers(Queue::Creation).await, ["claimed"; 2]);
}

#[tokio::test]
async fn a_take_from_a_crowd_waits_for_nobody() {
    for held in [
        "select from finalization_bells b join finalization_jobs using (job_id) \
            where conversation_id = 'a' for update of b",
        "select from finalization_jobs where conversation_id = 'a' for update",
    ] {
        let world = World::new().await;
        crowd(&world).await;
        let mut holder = world.database.holding(held).await;
        assert_eq!(world.answers(Queue::Creation).await, ["claimed"], "{held}");
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        assert_eq!(soon(&world).await, ["claimed"], "{held}");
    }
}

/// What the first take answers that finds something: one that was passed by is found within a second.
async fn soon(world: &World) -> Vec<&'static str> {
    let began = Instant::now();
    loop {
        let answers = world.answers(Queue::Creation).await;
        if !answers.is_empty() {
            return answers;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "nothing is found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What a take from a crowd decides on, nobody changes meanwhile.
#[tokio::test]
async fn a_take_from_a_crowd_holds_its_jobs() {
    let world = World::new().await;
    crowd(&world).await;
    // Its store waits.
    let mut slower = world.database.holding(BETWEEN).await;
    let ledger = world.ledger.clone();
    let take = tokio::spawn(async move { ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap() });
    world.database.until_somebody_waits().await;
    let free = "select count(*) from (select from finalization_jobs where status = 'queued' for update skip locked) j";
    assert_eq!(world.count(free).await, 0);
    sqlx::raw_sql("rollback").execute(&mut slower).await.unwrap();
    assert_eq!(take.await.unwrap().answers, ["claimed"; 2]);
}

#[tokio::test]
async fn a_bell_that_rings_before_those_that_were_seen_is_found_within_a_second() {
    // A machine that stands still for two seconds says nothing of the one that is promised: then once more.
    for _ in 0..5 {
        let world = World::new().await;
        world.admitted("a").await;
        assert_eq!(world.answers(Queue::Creation).await, ["claimed"]);
        world.admitted("b").await;
        world.run("update finalization_bells set ring_at = now() - interval '1 minute'").await;
        let began = Instant::now();
        assert_eq!(soon(&world).await, ["claimed"]);
        if began.elapsed() < Duration::from_secs(3) {
            return;
        }
    }
    panic!("it takes three seconds and more");
}

/// What a process rings itself, or lets ring again, it finds at once.
#[tokio::test]
async fn what_this_process_rings_is_not_passed_by() {
    let world = World::new().await;
    let job = world.admitted("a").await;
    world.age(&job, chrono::Duration::minutes(2)).await;
    let run = world.claim(&job).await;
    world.run("delete from finalization_bells").await;
    world.admitted("b").await;
    assert_eq!(world.answers(Queue::Creation).await, ["claimed"]);
    world
        .run(
            "update finalization_jobs set lease_expires_at = now() - interval '1 minute', \
        lease_claimed_at = now() - interval '2 minutes', reconcile_after_at = now() - interval '1 minute' \
        where conversation_id = 'a'",
        )
        .await;
    world.ledger.reconcile(&world.ann, &run.job.id).await.unwrap();
    assert_eq!(world.answers(Queue::Creation).await, ["claimed"], "under its first ready time, minutes ago");
}

#[tokio::test]
async fn what_waited_for_its_queue_to_be_resumed_is_not_passed_by() {
    let world = World::new().await;
    let olga = ledger::OperatorAction { operator: "olga".to_owned(), reason: "fire".to_owned() };
    assert!(world.ledger.pause(Queue::Creation, &olga).await.unwrap());
    let job = world.admitted("a").await;
    world.age(&job, chrono::Duration::minutes(2)).await;
    assert_eq!(world.answers(Queue::Creation).await, [""; 0]);
    assert!(world.ledger.resume(Queue::Creation, &olga).await.unwrap());
    assert_eq!(world.answers(Queue::Creation).await, ["claimed"]);
}

/// After many bells, takes read no more of their index than after none, but for the first of each second.
#[tokio::test]
async fn a_take_does_not_walk_past_what_was_answered() {
    const ANSWERED: &str = "alter table finalization_bells set (autovacuum_enabled = off); \
        insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
        select 'j' || n, 1, 1, 'creation', now() - interval '1 hour' from generate_series(1, 20000) n; \
        delete from finalization_bells";
    let world = World::new().await;
    world.database.seed(&[ANSWERED]).await;
    let front = pages(&world, "once", 1, 10).await;
    assert!(front > 50, "{front} pages");
    // Where two wait for one slot, bells are held first.
    for (name, slots) in [("at sight", 10), ("held first", 1)] {
        // On a slow machine some of them come a second after the last that began at the front.
        let all = pages(&world, name, 20, slots).await;
        assert!(all < 10 * front, "{name}: {all} pages for 20 takes, {front} for one from the front");
    }
}

/// How many pages of the bells' index a fresh process of that name touches in so many takes of a job each.
async fn pages(world: &World, name: &str, takes: usize, slots: u32) -> i64 {
    const TOUCHED: &str = "select idx_blks_hit + idx_blks_read from pg_statio_user_indexes \
        where indexrelname = 'finalization_bells_due'";
    let before = world.count(TOUCHED).await;
    let process = Ledger::new(world.database.options().application_name(name), Settings::default());
    for take in 0..takes {
        for job in 0..2 / slots.min(2) {
            world.admitted(&format!("{name}{take}-{job}")).await;
        }
        let taken = process.take(Queue::Creation, &worker("w"), slots).await.unwrap();
        assert_eq!(taken.answers, ["claimed"]);
    }
    process.close().await;
    // What its sessions did is told at their end.
    world.database.until_nobody_is(name).await;
    world.count(TOUCHED).await - before
}
