//! Claims: the oldest due jobs of a queue, each once, shared fairly between users.

use std::collections::HashMap;

use chrono::Duration;
use job::{FailureCode, JobId, Outcome, Queue};
use ledger::{ClaimRequest, CreateOutcome, Finished, JobClaims, Results, Transition};
use records::UserId;

use crate::{
    backlog_rows_read::tables_read_beyond,
    world::{World, completion, fail, ids, new_conversation, olga, segment, wanted, worker},
};

const FAIL: Transition = fail(FailureCode::ModelTimeout);

/// One job in each queue.
async fn one_in_each(world: &World) -> (JobId, JobId) {
    let creation = world.admitted("created").await;
    let id = world.deferred("finalized").await;
    world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
    let finalization =
        world.ledger.finalize(&world.ann, &id, None, None).await.unwrap().unwrap().job.unwrap();
    (creation, finalization)
}

#[tokio::test]
async fn claim_takes_jobs_of_its_own_queue() {
    let world = World::new().await;
    let (creation, finalization) = one_in_each(&world).await;
    assert_eq!(world.claimed_ids(Queue::Creation).await, [creation]);
    assert_eq!(world.claimed_ids(Queue::Creation).await, []);
    assert_eq!(world.claimed_ids(Queue::Finalization).await, [finalization]);
}

#[tokio::test]
async fn claim_takes_no_job_before_ready_at() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    world.ledger.settle(&run.lease_token(), FAIL, None).await.unwrap();
    assert_eq!(world.claimed_ids(Queue::Creation).await, [], "it backs off");
    world.age(&run.job.id, Duration::minutes(2)).await;
    assert_eq!(world.claimed_ids(Queue::Creation).await, [run.job.id]);
}

#[tokio::test]
async fn claim_takes_the_oldest_jobs_and_no_more_than_slots() {
    let world = World::new().await;
    let [newest, oldest, middle] =
        [world.admitted("a").await, world.admitted("b").await, world.admitted("c").await];
    world.age(&oldest, Duration::minutes(2)).await;
    world.age(&middle, Duration::minutes(1)).await;
    let two = world.ledger.claim(&wanted(Queue::Creation, 2)).await.unwrap();
    assert_eq!(ids(two), [oldest, middle]);
    assert_eq!(world.claimed_ids(Queue::Creation).await, [newest]);
}

#[tokio::test]
async fn claim_skips_locked_jobs() {
    let world = World::new().await;
    let (one, other) = (world.admitted("a").await, world.admitted("b").await);
    let held = "select from finalization_jobs where conversation_id = 'a' for update";
    let mut holder = world.database.hold_locks(held).await;
    assert_eq!(world.claimed_ids(Queue::Creation).await, [other]);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(world.claimed_ids(Queue::Creation).await, [one]);
}

/// A late process's completion is refused under the lock of a job that waits for its next claim.
#[tokio::test]
async fn claim_takes_a_job_right_after_a_late_completion_was_refused() {
    let world = World::new().await;
    for round in 0..10 {
        let late = world.claimed(&format!("c{round}")).await;
        world.age(&late.job.id, Duration::seconds(31)).await;
        world.ledger.reconcile(&late.job.id).await.unwrap();
        let refused = world.ledger.complete(&completion(&late, Outcome::Kept, Results::default())).await;
        assert!(matches!(refused.unwrap(), Finished::Refused(_)));
        assert_eq!(world.claimed_ids(Queue::Creation).await, [late.job.id]);
    }
}

#[tokio::test]
async fn claim_takes_nothing_from_a_paused_queue() {
    let world = World::new().await;
    let (creation, finalization) = one_in_each(&world).await;
    world.operations().pause(Queue::Creation, &olga()).await.unwrap();
    assert_eq!(world.claimed_ids(Queue::Creation).await, []);
    assert_eq!(world.claimed_ids(Queue::Finalization).await, [finalization]);
    world.operations().resume(Queue::Creation, &olga()).await.unwrap();
    assert_eq!(world.claimed_ids(Queue::Creation).await, [creation]);
}

/// The older of two jobs refuses updates for which `changes` holds.
async fn with_a_failing_job(world: &World, changes: &str) -> (JobId, JobId) {
    let (bad, good) = (world.admitted("bad").await, world.admitted("good").await);
    world.age(&bad, Duration::minutes(1)).await;
    refuse(world, &format!("new.conversation_id = 'bad' and {changes}")).await;
    (bad, good)
}

/// Makes the database refuse updates of jobs for which `changes` holds.
async fn refuse(world: &World, changes: &str) {
    let refuse = format!(
        "create function refuse() returns trigger language plpgsql as \
             $$begin raise exception 'no' using errcode = '23514'; end$$; \
         create trigger refuse before update on finalization_jobs for each row \
             when ({changes}) execute function refuse()"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(refuse)).execute(&world.pool).await.unwrap();
}

const DEFERRED: &str = "select count(*) from finalization_jobs where status = 'queued' \
    and ready_at between now() + interval '4 minutes' and now() + interval '5 minutes'";

#[tokio::test]
async fn claim_defers_a_job_that_cannot_be_stored() {
    let world = World::new().await;
    let (_, good) = with_a_failing_job(&world, "new.status = 'leased'").await;
    let JobClaims { claims, deferred, .. } = world.claims(Queue::Creation).await;
    assert_eq!((claims.len(), &claims[0].job.id, deferred), (1, &good, 1));
    assert_eq!(world.count(DEFERRED).await, 1);
}

#[tokio::test]
async fn claim_continues_past_a_job_that_cannot_be_deferred() {
    let world = World::new().await;
    let (_, good) = with_a_failing_job(&world, "true").await;
    let one = wanted(Queue::Creation, 1);
    let first = world.ledger.claim(&one).await.unwrap();
    assert_eq!((first.claims.len(), first.deferred), (0, 1));
    assert_eq!(ids(world.ledger.claim(&one).await.unwrap()), [good], "with a single slot, too");
    assert_eq!(world.claims(Queue::Creation).await.deferred, 0, "it is passed over from memory");
}

#[tokio::test]
async fn claim_defers_an_unreadable_job() {
    let world = World::new().await;
    let (bad, good) = (world.admitted("bad").await, world.admitted("good").await);
    world.age(&bad, Duration::minutes(1)).await;
    world
        .run(
            "alter table finalization_jobs drop constraint origin_known; \
             update finalization_jobs set origin = 'unheard of' where conversation_id = 'bad'",
        )
        .await;
    let JobClaims { claims, deferred, .. } = world.claims(Queue::Creation).await;
    assert_eq!((claims.len(), &claims[0].job.id, deferred), (1, &good, 1));
    assert_eq!(world.count(DEFERRED).await, 1);
}

/// A claim by a worker with four slots, `free` of them free, in which these users run so many jobs.
fn fair(free: u32, running: &[(&str, u32)]) -> ClaimRequest {
    let running: HashMap<UserId, u32> = running.iter().map(|(user, n)| (UserId::new(*user), *n)).collect();
    ClaimRequest { share: 2, running, slots: free, ..wanted(Queue::Creation, free) }
}

/// Creates users with so many jobs each; those of the first user are the oldest.
async fn users(world: &World, jobs: &[(&str, usize)]) {
    for (minutes, (name, count)) in (1..).zip(jobs.iter().rev()) {
        let user = UserId::new(*name);
        world.ledger.store().create_user(&user, &Default::default()).await.unwrap();
        for number in 0..*count {
            let new = new_conversation(&format!("{name}-{number}"));
            let created = world.ledger.create_conversation(&user, new, None).await.unwrap();
            let CreateOutcome::Admitted(admitted) = created else { panic!("{created:?}") };
            world.age(&admitted.job_id, Duration::minutes(minutes)).await;
        }
    }
}

/// The users users_of jobs were claimed, sorted.
fn users_of(claims: &JobClaims) -> Vec<&str> {
    let mut users: Vec<&str> = claims.claims.iter().map(|claimed| claimed.user_id.as_str()).collect();
    users.sort_unstable();
    users
}

#[tokio::test]
async fn claim_gives_one_user_at_most_half_of_the_slots_while_others_wait() {
    let world = World::new().await;
    users(&world, &[("heavy", 9), ("bob", 1), ("eve", 3)]).await;
    let claims = world.ledger.claim(&fair(4, &[])).await.unwrap();
    assert_eq!(users_of(&claims), ["bob", "eve", "heavy", "heavy"]);
    let claims = world.ledger.claim(&fair(1, &[("heavy", 2), ("bob", 1)])).await.unwrap();
    assert_eq!(users_of(&claims), ["eve"]);
    let claims = world.ledger.claim(&fair(2, &[("heavy", 2), ("eve", 2)])).await.unwrap();
    assert_eq!(users_of(&claims), ["heavy", "heavy"], "no slot stays free because of a share");
}

#[tokio::test]
async fn claim_takes_a_job_within_its_users_share_once() {
    let world = World::new().await;
    users(&world, &[("bob", 1), ("heavy", 9)]).await;
    let claims = world.ledger.claim(&fair(4, &[])).await.unwrap();
    assert_eq!(users_of(&claims), ["bob", "heavy", "heavy", "heavy"], "bob has no other job for his turn");
}

#[tokio::test]
async fn claim_takes_a_users_next_job_after_one_that_cannot_be_deferred() {
    let world = World::new().await;
    users(&world, &[("heavy", 9), ("bob", 2), ("zoe", 2)]).await;
    refuse(&world, "new.conversation_id in ('bob-0', 'zoe-0')").await;
    let mut claimed = Vec::new();
    for _ in 0..6 {
        let claims = world.ledger.claim(&fair(1, &[("heavy", 2)])).await.unwrap();
        claimed.extend(users_of(&claims).into_iter().map(str::to_owned));
    }
    for user in ["bob", "zoe"] {
        assert!(claimed.iter().any(|claimed| claimed == user), "{user} has another job: {claimed:?}");
    }
}

#[tokio::test]
async fn claim_leaves_one_slot_free_for_other_users() {
    let world = World::new().await;
    users(&world, &[("heavy", 9)]).await;
    let fair = |free, running: &[(&str, u32)]| ClaimRequest { most: 3, ..fair(free, running) };
    let claims = world.ledger.claim(&fair(4, &[])).await.unwrap();
    assert_eq!((users_of(&claims).len(), claims.held_back), (3, true));
    let claims = world.ledger.claim(&fair(1, &[("heavy", 3)])).await.unwrap();
    assert_eq!((users_of(&claims).len(), claims.held_back), (0, true));
    users(&world, &[("bob", 1)]).await;
    let claims = world.ledger.claim(&fair(1, &[("heavy", 3)])).await.unwrap();
    assert_eq!((users_of(&claims), claims.held_back), (vec!["bob"], false));
}

#[tokio::test]
async fn claim_rotates_users_for_slots_beyond_a_share() {
    let world = World::new().await;
    users(&world, &[("heavy", 9), ("bob", 3), ("eve", 3), ("zoe", 3)]).await;
    let mut turns = Vec::new();
    for _ in 0..6 {
        let claims = world.ledger.claim(&fair(1, &[("heavy", 2)])).await.unwrap();
        turns.extend(users_of(&claims).into_iter().map(str::to_owned));
    }
    assert_eq!(turns, ["bob", "eve", "zoe", "bob", "eve", "zoe"]);
}

#[tokio::test]
async fn claim_gives_no_turn_to_a_user_without_due_jobs() {
    let world = World::new().await;
    users(&world, &[("heavy", 9), ("bob", 1), ("eve", 1)]).await;
    world
        .run("update finalization_jobs set ready_at = now() + interval '1 hour' where user_id = 'bob'")
        .await;
    let claims = world.ledger.claim(&fair(1, &[("heavy", 2)])).await.unwrap();
    assert_eq!(users_of(&claims), ["eve"]);
    let claims = world.ledger.claim(&fair(1, &[("heavy", 2)])).await.unwrap();
    assert_eq!(users_of(&claims), ["heavy"]);
}

/// After an outage many users wait for a retry: users that sort behind them get a turn all the same.
#[tokio::test]
async fn claim_finds_a_due_user_behind_200_users_without_due_jobs() {
    let world = World::new().await;
    users(&world, &[("heavy", 9), ("zoe", 1)]).await;
    world
        .database
        .seed(&[
            "insert into users (user_id) select 'u' || n from generate_series(100, 299) n",
            "insert into finalization_jobs select (jsonb_populate_record(j, jsonb_build_object( \
                 'user_id', 'u' || n, 'job_id', 'fj_' || n, 'conversation_id', 'c' || n, \
                 'ready_at', now() + interval '1 hour'))).* \
             from finalization_jobs j, generate_series(100, 299) n where j.user_id = 'zoe'",
        ])
        .await;
    let mut claimed = Vec::new();
    for _ in 0..6 {
        let claims = world.ledger.claim(&fair(1, &[("heavy", 2)])).await.unwrap();
        claimed.extend(users_of(&claims).into_iter().map(str::to_owned));
    }
    assert!(claimed.contains(&"zoe".to_owned()), "{claimed:?}");
}

/// One user has 100,000 older jobs: another user's job is claimed with the next free slot all the same, and the claim
/// reads a handful of rows.
#[tokio::test]
async fn claim_is_not_delayed_by_another_users_backlog() {
    let world = World::new().await;
    users(&world, &[("heavy", 1), ("bob", 1)]).await;
    world
        .database
        .seed(&["insert into finalization_jobs select (jsonb_populate_record(j, jsonb_build_object( \
                 'job_id', 'fj_' || n, 'conversation_id', 'c' || n, 'ready_at', j.ready_at - interval '1 hour'))).* \
             from finalization_jobs j, generate_series(1, 20000) n where j.user_id = 'heavy'",
             "analyze finalization_jobs"])
        .await;
    let more = tables_read_beyond(&world, 2_000, async |ledger| {
        let claims = ledger.claim(&fair(2, &[("heavy", 2)])).await.unwrap();
        assert_eq!(users_of(&claims), ["bob", "heavy"]);
        let one = ClaimRequest { worker: worker("v"), ..fair(1, &[("heavy", 1), ("bob", 1)]) };
        assert_eq!(users_of(&ledger.claim(&one).await.unwrap()), ["heavy"]);
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}
