//! Races of two operations: the second is refused, or finds the work done. Barriers, no sleeps; each race is
//! repeated, as the winner is not always the same.

use std::time::Duration;

use db::Error;
use job::{FailureCode, Outcome, Queue, Refusal, State};
use ledger::{
    ClaimRequest, CreateOutcome, Finished, JobClaims, Ledger, NewConversation, NewItem, NewMemory, Results,
    StoredJob, Transition,
};
use records::{ConversationId, MemoryCategory};
use testbed::both_at_once;
use tokio::time::timeout;

use crate::world::{World, completion, fail, new_conversation, parts, segment, wanted, worker};

const ROUNDS: usize = 12;

/// An action item and a memory, always the same.
fn results() -> Results {
    Results {
        items: vec![NewItem { description: "Call Bob".into(), due_at: None }],
        memories: vec![NewMemory { content: "Likes tea".into(), category: MemoryCategory::Core }],
        embedding: Some(("m".into(), vec![1.0])),
        engine: "e".into(),
        ..Results::default()
    }
}

async fn complete(ledger: Ledger, claimed: StoredJob) -> Finished {
    ledger.complete(&completion(&claimed, Outcome::Kept, results())).await.unwrap()
}

/// How many rows a completion would have left.
async fn written(world: &World) -> i64 {
    world
        .count(
            "select (select count(*) from action_items) + (select count(*) from memories) \
                 + (select count(*) from embeddings)",
        )
        .await
}

async fn claim(ledger: Ledger, name: &str) -> JobClaims {
    let request = ClaimRequest { worker: worker(name), ..wanted(Queue::Creation, 5) };
    ledger.claim(&request).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_claims_of_one_job_grant_one() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let job = world.admitted(&format!("c{round}")).await;
        let (one, other) = (world.ledger.clone(), world.other_process());
        let (one, other) = both_at_once(claim(one, "one"), claim(other, "other")).await;
        let claims: Vec<_> = one.claims.iter().chain(&other.claims).collect();
        assert_eq!(claims.len(), 1);
        assert_eq!(claims[0].job, world.job(&job).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_task_deliveries_of_one_generation_grant_one() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let job = world.admitted(&format!("c{round}")).await;
        let generation = world.job(&job).await.generation;
        let (one, other) = (world.ledger.clone(), world.other_process());
        let (first, second) = (job.clone(), job.clone());
        let (one, other) = both_at_once(
            async move { parts(one.claim_delivery(&first, generation, &worker("one")).await.unwrap()).0 },
            async move { parts(other.claim_delivery(&second, generation, &worker("other")).await.unwrap()).0 },
        )
        .await;
        let mut answers = [one, other];
        answers.sort_unstable();
        assert_eq!(answers, ["claimed", "leased"]);
        assert_eq!(world.job(&job).await.runs, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completion_and_takeover_exclude_each_other() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let old = world.claimed(&format!("c{round}")).await;
        world.age(&old.job.id, chrono::Duration::seconds(31)).await;
        let before = written(&world).await;
        let (holder, taker) = (world.ledger.clone(), world.other_process());
        let (job, generation, run) = (old.job.id.clone(), old.job.generation, old.clone());
        let (finished, (answer, _)) = both_at_once(complete(holder, run), async move {
            parts(taker.claim_delivery(&job, generation, &worker("taker")).await.unwrap())
        })
        .await;
        match finished {
            Finished::Completed { .. } => assert_eq!(answer, "completed"),
            Finished::Already => panic!("it was sent once"),
            Finished::Refused(refusal) => {
                assert_eq!((refusal, answer), (Refusal::LeaseLost, "claimed"));
                assert_eq!(written(&world).await, before);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletion_during_a_completion_leaves_no_results() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let id = ConversationId::new(format!("c{round}"));
        let claimed = world.claimed(id.as_str()).await;
        let (holder, deleter, ann, run) =
            (world.ledger.clone(), world.other_process(), world.ann.clone(), claimed.clone());
        let (finished, deleted) = both_at_once(complete(holder, run), async move {
            deleter.delete_conversation(&ann, &id).await.unwrap()
        })
        .await;
        assert!(deleted);
        assert_eq!(written(&world).await, 0);
        let outcome = match finished {
            Finished::Completed { .. } => Outcome::Kept,
            Finished::Already => panic!("it was sent once"),
            Finished::Refused(refusal) => {
                assert_eq!(refusal, Refusal::LeaseLost);
                Outcome::Withdrawn
            }
        };
        assert_eq!(world.job(&claimed.job.id).await.state, State::Completed { outcome });
    }
}

#[tokio::test]
async fn run_of_a_deleted_conversation_is_refused_every_operation() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    assert!(world.ledger.delete_conversation(&world.ann, &ConversationId::new("c")).await.unwrap());
    let refused = complete(world.ledger.clone(), claimed.clone()).await;
    assert_eq!(refused, Finished::Refused(Refusal::LeaseLost));
    let answer = world.ledger.settle(&claimed.lease_token(), Transition::Park, None).await.unwrap();
    assert_eq!(answer, ledger::Answer::Refused(Refusal::LeaseLost));
    assert_eq!(world.ledger.renew(&[claimed.lease_token()]).await.unwrap(), [ledger::Renewal::Lost]);
    assert_eq!(written(&world).await, 0);
    assert!(!world.ledger.delete_conversation(&world.ann, &ConversationId::new("c")).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_finalizes_admit_one_job() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let id = world.deferred(&format!("c{round}")).await;
        let finalize = |ledger: Ledger| {
            let (ann, id) = (world.ann.clone(), id.clone());
            async move { ledger.finalize(&ann, &id, None, None).await.unwrap().unwrap().job.unwrap() }
        };
        let (one, other) =
            both_at_once(finalize(world.ledger.clone()), finalize(world.other_process())).await;
        assert_eq!(one, other);
        let jobs = world.count("select count(*) from finalization_jobs").await;
        assert_eq!(jobs, round as i64 + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_of_one_session_make_one_conversation_and_job() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let create = |ledger: Ledger| {
            let ann = world.ann.clone();
            let id = format!("c{round}");
            let new =
                NewConversation { client_session_id: Some(format!("s{round}")), ..new_conversation(&id) };
            async move { ledger.create_conversation(&ann, new, None).await.unwrap() }
        };
        let (one, other) = both_at_once(create(world.ledger.clone()), create(world.other_process())).await;
        let fresh = [&one, &other].iter().filter(|made| matches!(made, CreateOutcome::Admitted(_))).count();
        let known = [&one, &other].iter().filter(|made| matches!(made, CreateOutcome::Known(_))).count();
        assert_eq!((fresh, known), (1, 1), "{one:?} {other:?}");
        assert_eq!(world.count("select count(*) from conversations").await, round as i64 + 1);
        assert_eq!(world.count("select count(*) from finalization_jobs").await, round as i64 + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_completions_write_equal_items_and_memories_once() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        world.run("delete from action_items; delete from memories; delete from embeddings").await;
        let one = world.claimed(&format!("a{round}")).await;
        let other = world.claimed(&format!("b{round}")).await;
        let (one, other) =
            both_at_once(complete(world.ledger.clone(), one), complete(world.other_process(), other)).await;
        let kept = Finished::Completed { items: 1, memories: 1, deliveries: 0 };
        let known = Finished::Completed { items: 0, memories: 0, deliveries: 0 };
        assert!((&one, &other) == (&kept, &known) || (&one, &other) == (&known, &kept), "{one:?} {other:?}");
        assert_eq!(world.count("select count(*) from action_items").await, 1);
        assert_eq!(world.count("select count(*) from memories").await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn segments_appended_during_finalize_are_included_or_refused() {
    let world = World::new().await;
    for round in 0..ROUNDS {
        let id = world.deferred(&format!("c{round}")).await;
        let (appender, finalizer) = (world.ledger.clone(), world.other_process());
        let (ann, finalizing_user, first, second) =
            (world.ann.clone(), world.ann.clone(), id.clone(), id.clone());
        let (appended, finalized) = both_at_once(
            async move { appender.store().append_segments(&ann, &first, &[segment("s")]).await.unwrap() },
            async move { finalizer.finalize(&finalizing_user, &second, None, None).await.unwrap() },
        )
        .await;
        assert!(finalized.unwrap().job.is_some());
        let view = world.ledger.store().conversation(&world.ann, &id, false).await.unwrap().unwrap();
        let conversation = view.conversation;
        let stored: i64 =
            sqlx::query_scalar("select count(*) from transcript_segments where conversation_id = $1")
                .bind(id.as_str())
                .fetch_one(&world.pool)
                .await
                .unwrap();
        match appended {
            Ok(segments) => assert_eq!((segments, stored), (1, 1)),
            Err(refusal) => assert_eq!((refusal, stored), (store::AppendRefusal::NotInProgress, 0)),
        }
        assert_eq!(conversation.status, records::Status::Processing);
    }
}

/// Makes every update of the job of `bad` silently change no row.
async fn lose_updates_of_the_bad_job(world: &World) {
    world
        .run(
            "create function lose() returns trigger language plpgsql as $$begin return null; end$$; \
             create trigger lose before update on finalization_jobs for each row \
                 when (new.conversation_id = 'bad') execute function lose()",
        )
        .await;
}

#[tokio::test]
async fn settle_fails_as_contended_when_every_update_is_lost() {
    let world = World::new().await;
    let token = world.claimed("bad").await.lease_token();
    lose_updates_of_the_bad_job(&world).await;
    let transition = fail(FailureCode::InvalidJob);
    let settled = timeout(Duration::from_secs(30), world.ledger.settle(&token, transition, None)).await;
    let settled = settled.expect("the number of tries is bounded");
    assert!(matches!(settled, Err(Error::Contended { .. })), "{settled:?}");
}
