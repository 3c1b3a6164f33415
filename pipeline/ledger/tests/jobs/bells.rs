//! The bell reader: whatever rings, a take answers, throws away what leads nowhere, and runs only what is due.
//! `PROPTEST_CASES` sets how many belfries are tried.

use std::time::Duration;

use job::{Queue, State};
use ledger::{Ledger, Settings};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sqlx::types::chrono::{DateTime, Utc};

use crate::world::{World, worker};

#[derive(Clone, Debug)]
struct Bell {
    /// Of one of the jobs, or of none.
    job: Result<usize, String>,
    ring: i64,
    generation: i64,
    /// Seconds from now; far away on both sides too.
    at: i64,
    many: bool,
}

fn bell() -> impl Strategy<Value = Bell> {
    let number = || prop_oneof![4 => -1i64..4, 1 => any::<i64>()];
    let at = prop_oneof![6 => -100i64..3, 1 => 3_600i64..10_000, 1 => Just(-60_000_000_000), 1 => Just(8_000_000_000_000)];
    let job = prop_oneof![5 => (0usize..6).prop_map(Ok), 1 => "[^\\x00]{0,80}".prop_map(Err)];
    (job, number(), number(), at, any::<bool>()).prop_map(|(job, ring, generation, at, many)| Bell {
        job,
        ring,
        generation,
        at,
        many,
    })
}

#[tokio::test]
async fn whatever_rings_a_take_answers_and_runs_only_what_is_due() {
    let world = World::new().await;
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let cases = runner.config().cases.min(2_000) / 8;
    for case in 0..cases {
        let bells = prop::collection::vec(bell(), 0..25).new_tree(&mut runner).unwrap().current();
        ring_and_take(&world, case, &bells).await;
    }
}

/// Six jobs in six states, a belfry, and takes until nothing is due any more.
async fn ring_and_take(world: &World, case: u32, bells: &[Bell]) {
    let mut jobs = Vec::new();
    for index in 0..6 {
        jobs.push(world.admitted(&format!("c-{case}-{index}")).await);
    }
    world.run("delete from finalization_bells").await;
    let claimed = world.claim(&jobs[0]).await;
    world.claim(&jobs[1]).await;
    let discarded = crate::world::completion(&claimed, job::Outcome::Discarded, ledger::Results::default());
    world.ledger.complete(&discarded).await.unwrap();
    for bell in bells {
        hang(world, &jobs, bell).await;
    }
    // Where it begins to look it knows of none of those that were hung by hand.
    let process = world.other_process();
    let mut claims = Vec::new();
    let mut asked = world.ledger.now().await.unwrap();
    for turn in 0.. {
        assert!(turn < 40, "a take goes on for ever: {bells:?}");
        let taken = process.take(Queue::Creation, &worker("w"), 10).await.unwrap();
        assert!(!taken.answers.contains(&"error"), "{bells:?}");
        if taken.answers.is_empty() && taken.quiet_for != Some(Duration::ZERO) {
            break;
        }
        claims.extend(taken.claims);
        asked = world.ledger.now().await.unwrap();
    }
    for claim in &claims {
        let rung = |bell: &Bell| {
            bell.at <= 3
                && bell.generation == 1
                && bell.job.as_ref().is_ok_and(|job| jobs[*job] == claim.job.id)
        };
        assert!(bells.iter().any(rung), "{} was run unasked: {bells:?}", claim.job.id);
        assert!(matches!(claim.job.state, State::Leased(_)) && claim.job.epoch.0 == 1);
    }
    let due = "select count(*) from finalization_bells where ring_at <= $1 - interval '1 second'";
    let left: i64 = sqlx::query_scalar(due).bind(asked).fetch_one(&world.pool).await.unwrap();
    assert_eq!(left, 0, "what was due has been answered: {bells:?}");
    world.run("delete from finalization_bells").await;
    process.close().await;
}

async fn hang(world: &World, jobs: &[job::JobId], bell: &Bell) {
    let id = match &bell.job {
        Ok(index) => jobs[*index].as_str(),
        Err(text) => text.as_str(),
    };
    let now = world.ledger.now().await.unwrap();
    let at: DateTime<Utc> = now + chrono::Duration::seconds(bell.at);
    for copy in 0..=i64::from(bell.many) {
        sqlx::query(
            "insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
             values ($1, $2, $3, 'creation', $4) on conflict do nothing",
        )
        .bind(id)
        .bind(bell.ring.wrapping_add(copy))
        .bind(bell.generation)
        .bind(at)
        .execute(&world.pool)
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn a_conversation_is_deleted_where_its_bells_cannot_be_reached() {
    let world = World::new().await;
    world.admitted("c").await;
    world.run("alter table finalization_bells rename to away").await;
    let id = records::ConversationId::new("c");
    assert!(world.ledger.delete_conversation(&world.ann, &id).await.unwrap());
    world.run("alter table away rename to finalization_bells").await;
    assert_eq!(
        world.count("select count(*) from finalization_bells").await,
        1,
        "whoever takes it throws it away"
    );
    assert_eq!(world.answers(job::Queue::Creation).await.len(), 1);
    assert_eq!(world.count("select count(*) from finalization_bells").await, 0);
}

#[tokio::test]
async fn a_taker_sleeps_until_the_first_of_what_rings_later() {
    let world = World::new().await;
    for id in ["a", "b", "c"] {
        world.admitted(id).await;
    }
    let first = "case conversation_id when 'b' then interval '1 hour' else interval '3 hours' end";
    let later = format!(
        "update finalization_jobs set ready_at = now() + {first}; \
         update finalization_bells b set ring_at = now() + {first} from finalization_jobs j where j.job_id = b.job_id"
    );
    world.database.run(&later).await;
    let inline = Ledger::new(world.database.options(), Settings { bells: false, ..Settings::default() });
    for ledger in [&world.ledger, &inline] {
        let (now, at) = ledger.next_ring_at(Queue::Creation).await.unwrap().unwrap();
        assert!((0..=60).contains(&(at - now).num_minutes()), "{now} {at}");
    }
}

#[tokio::test]
async fn a_bell_of_no_job_is_no_matter_of_those_that_are_taken_with_it_oldest_first() {
    let world = World::new().await;
    for id in ["a", "b", "c"] {
        world.admitted(id).await;
    }
    world
        .run(
            "update finalization_bells b set ring_at = now() - make_interval(mins => strpos('cba', conversation_id)) \
                 from finalization_jobs j where j.job_id = b.job_id; \
             insert into finalization_bells values ('fj_nobody', 1, 1, 'creation', now() - interval '1 hour')",
        )
        .await;
    let taken = world.ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap();
    assert_eq!(taken.answers, ["missing", "claimed", "claimed", "claimed"]);
    let ids: Vec<&str> = taken.claims.iter().map(|claimed| claimed.conversation_id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

/// A world with a job, and two bells of no job that rang before all time.
async fn with_bells_before_all_time() -> World {
    let world = World::new().await;
    world.admitted("c").await;
    world
        .run(
            "insert into finalization_bells select job, 1, 1, 'creation', '-infinity' \
             from unnest(array['fj_nobody', 'fj_none']) job",
        )
        .await;
    world
}

#[tokio::test]
async fn bells_that_rang_before_all_time_are_answered_first() {
    let world = with_bells_before_all_time().await;
    assert_eq!(world.answers(Queue::Creation).await, ["missing", "missing", "claimed"]);
    assert_eq!(world.count("select count(*) from finalization_bells").await, 0);
}

#[tokio::test]
async fn a_crowd_of_them_is_answered_one_by_one() {
    let world = with_bells_before_all_time().await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.extend(world.ledger.take(Queue::Creation, &worker("w"), 1).await.unwrap().answers);
    }
    assert_eq!(answers, ["missing", "missing", "claimed"]);
}

#[tokio::test]
async fn one_of_before_all_time_that_somebody_held_is_taken_by_the_next_look() {
    let world = World::new().await;
    world.admitted("c").await;
    world.run("update finalization_bells set ring_at = '-infinity'").await;
    let mut held = world.database.holding("select from finalization_bells for update").await;
    assert_eq!(world.answers(Queue::Creation).await, Vec::<&str>::new());
    sqlx::raw_sql("rollback").execute(&mut held).await.unwrap();
    assert_eq!(world.answers(Queue::Creation).await, ["claimed"]);
}

#[tokio::test]
async fn a_bell_that_never_rings_wakes_nobody_and_one_of_before_all_time_wakes_at_once() {
    let world = World::new().await;
    world.admitted("c").await;
    let next = async || world.ledger.next_ring_at(Queue::Creation).await.unwrap().unwrap();
    world.run("update finalization_bells set ring_at = 'infinity'").await;
    let (now, at) = next().await;
    assert!(at - now > chrono::Duration::days(365), "{at}");
    assert_eq!(world.answers(Queue::Creation).await, Vec::<&str>::new());
    world.run("update finalization_bells set ring_at = '-infinity'").await;
    let (now, at) = next().await;
    assert!(at < now, "{at}");
}
