//! Lock order: which rows an operation has locked while it waits. Each operation is stopped by a row that another
//! session locks further down the order; then the locks that it holds by then are checked.

use job::Outcome;
use ledger::{CheckpointKey, CreateOutcome, NewConversation, Results, WithKeys};
use records::ConversationId;
use serde_json::json;

use crate::{
    three_conversations::{ThreeConversations, results},
    world::{REPLAY, World, completion, new_conversation, operate, segment},
};

/// Starts `operation`, which waits for the rows that `held` locks, and returns whether `probe` could lock its row
/// meanwhile. The operation then goes on to its end.
pub(crate) async fn is_free_while<T: Send + 'static>(
    world: &World,
    held: &'static str,
    operation: impl Future<Output = T> + Send + 'static,
    probe: &'static str,
) -> (bool, T) {
    let mut holder = world.database.hold_locks(held).await;
    let operation = tokio::spawn(operation);
    world.database.until_somebody_waits().await;
    let free = sqlx::raw_sql(probe).execute(&world.pool).await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    (free.is_ok(), operation.await.unwrap())
}

const ANN: &str = "select from users where user_id = 'ann' for no key update nowait";

#[tokio::test]
async fn create_locks_its_user() {
    let world = World::new().await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let held = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
            language, source, status) \
        values ('ann', 'c', now(), now(), now(), now(), 'en', 'phone', 'processing')";
    let operation =
        async move { ledger.create_conversation(&ann, new_conversation("c"), None).await.unwrap() };
    let (free, _) = is_free_while(&world, held, operation, ANN).await;
    assert!(!free, "a create locks its user");
}

#[tokio::test]
async fn finalize_locks_its_user_and_then_its_conversation() {
    const CONVERSATION: &str = "select from conversations for no key update nowait";
    for (held, probe, is_free) in [
        ("select from users for update", CONVERSATION, true),
        ("select from conversations for update", ANN, false),
        ("insert into finalization_admissions values ('ann', 'c', 1, 'another', now())", CONVERSATION, false),
    ] {
        let world = World::new().await;
        let id = world.deferred("c").await;
        let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
        let operation = async move { ledger.finalize(&ann, &id, None, None).await.unwrap().unwrap() };
        let (free, admitted) = is_free_while(&world, held, operation, probe).await;
        assert_eq!(free, is_free, "{held}");
        assert!(admitted.job.is_some());
    }
}

#[tokio::test]
async fn finalize_with_keys_locks_user_and_conversation_before_it_reads() {
    for probe in [ANN, "select from conversations for no key update nowait"] {
        let world = World::new().await;
        let id = world.deferred("c").await;
        let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
        let operation = async move {
            let keys = WithKeys { claimant: None };
            ledger.finalize(&ann, &id, None, Some(keys)).await.unwrap().unwrap()
        };
        // It waits where it would read the transcript.
        let held = "lock table transcript_segments in access exclusive mode";
        let (free, finalized) = is_free_while(&world, held, operation, probe).await;
        assert!(!free, "{probe}");
        assert!(finalized.fresh);
    }
}

#[tokio::test]
async fn replay_locks_its_user_and_its_conversation() {
    for (held, probe) in [
        ("select from conversations for update", ANN),
        ("select from finalization_jobs for update", "select from conversations for no key update nowait"),
    ] {
        let world = World::new().await;
        let job = world.dead("c", job::FailureCode::InvalidJob).await;
        let ledger = world.ledger.clone();
        let operation = async move { operate(&ledger, &job, REPLAY).await.unwrap() };
        let (free, _) = is_free_while(&world, held, operation, probe).await;
        assert!(!free, "{probe}");
    }
}

#[tokio::test]
async fn completion_locks_its_user() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let ledger = world.ledger.clone();
    let operation =
        async move { ledger.complete(&completion(&run, Outcome::Kept, Results::default())).await };
    let (free, finished) =
        is_free_while(&world, "select from finalization_jobs for update", operation, ANN).await;
    assert!(!free, "a completion locks its user");
    finished.unwrap();
}

#[tokio::test]
async fn record_locks_its_job() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    const KEY: CheckpointKey = CheckpointKey { stage: "structure", version: 1, digest: [7; 32] };
    let ledger = world.ledger.clone();
    let operation =
        async move { ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[]).await.unwrap() };
    let held = "insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
        select user_id, job_id, 'structure', 1, decode(repeat('07', 32), 'hex'), '0', 1 from finalization_jobs";
    let probe = "select from finalization_jobs for no key update nowait";
    let (free, recorded) = is_free_while(&world, held, operation, probe).await;
    assert!(!free, "record locks the job whose lease it needs");
    assert!(recorded);
}

#[tokio::test]
async fn append_waits_for_an_admission_and_is_refused() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
    let operation =
        async { world.ledger.store().append_segments(&world.ann, &id, &[segment("t")]).await.unwrap() };
    // An admission locks it; the append waits, and then finds it admitted.
    let admitted = "update conversations set status = 'processing'";
    let appended = world.database.overtaken_by(admitted, operation).await;
    assert_eq!(appended, Err(store::AppendRefusal::NotInProgress));
    assert_eq!(world.count("select count(*) from transcript_segments").await, 1);
}

#[tokio::test]
async fn append_to_a_conversation_that_is_being_completed_is_refused_without_waiting() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.run("update conversations set status = 'processing'").await;
    // A completion holds a long conversation for longer than an operation waits.
    let _completion = world.database.hold_locks("select from conversations for update").await;
    let append = world.ledger.store().append_segments(&world.ann, &id, &[segment("late")]).await;
    assert_eq!(append.unwrap(), Err(store::AppendRefusal::NotInProgress));
}

#[tokio::test]
async fn finalize_and_reprocess_admit_nothing_when_the_status_changed() {
    let world = World::new().await;
    world.deferred("c").await;
    for reprocess in [false, true] {
        let (from, to) = if reprocess { ("failed", "in_progress") } else { ("in_progress", "completed") };
        sqlx::query("update conversations set status = $1").bind(from).execute(&world.pool).await.unwrap();
        let id = ConversationId::new("c");
        let operation = async {
            match reprocess {
                true => drop(world.ledger.reprocess(&world.ann, &id, None).await.unwrap()),
                false => drop(world.ledger.finalize(&world.ann, &id, None, None).await.unwrap()),
            }
        };
        let changed = format!("update conversations set status = '{to}'");
        world.database.overtaken_by(&changed, operation).await;
        assert_eq!(world.count("select count(*) from finalization_jobs").await, 0, "{from} was {to} by then");
    }
}

#[tokio::test]
async fn create_admits_nothing_when_a_failed_conversation_was_reopened() {
    let world = World::new().await;
    let session = || NewConversation { client_session_id: Some("s".into()), ..new_conversation("c") };
    world.ledger.create_conversation(&world.ann, session(), None).await.unwrap();
    world.run("delete from finalization_jobs; update conversations set status = 'failed'").await;
    let mut holder = world.database.hold_locks("select from conversations for update").await;
    let (ledger, ann, again) = (world.ledger.clone(), world.ann.clone(), session());
    let operation = tokio::spawn(async move { ledger.create_conversation(&ann, again, None).await.unwrap() });
    world.database.until_somebody_waits().await;
    // It read `failed`, and waits to update it; meanwhile another session reopens it.
    let opened = "update conversations set status = 'processing'; commit";
    sqlx::raw_sql(opened).execute(&mut holder).await.unwrap();
    let known = operation.await.unwrap();
    assert!(matches!(known, CreateOutcome::Known(_)), "{known:?}");
    assert_eq!(world.count("select count(*) from finalization_jobs").await, 0);
}

#[tokio::test]
async fn deletion_withdraws_a_job_admitted_meanwhile() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    world
        .run(
            "update finalization_jobs set status = 'completed', outcome = 'kept', finished_at = now(), \
                 ready_at = null, reconcile_after_at = null",
        )
        .await;
    let mut holder = world.database.hold_locks("select from conversations for update").await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let id = ConversationId::new("c");
    let operation = tokio::spawn(async move { ledger.delete_conversation(&ann, &id).await.unwrap() });
    world.database.until_somebody_waits().await;
    // It found no live job, and waits for the conversation; by then there is one.
    let admitted = "update finalization_jobs set status = 'queued', outcome = null, finished_at = null, \
            ready_at = now(), reconcile_after_at = now(), version = version + 1; \
        commit";
    sqlx::raw_sql(admitted).execute(&mut holder).await.unwrap();
    assert!(operation.await.unwrap());
    let withdrawn = job::State::Completed { outcome: Outcome::Withdrawn };
    assert_eq!(world.job(&job).await.state, withdrawn);
}

#[tokio::test]
async fn completion_batch_locks_its_own_conversations_only() {
    let world = World::new().await;
    // A statement that locks too many rows would lock those that come first: Al's with the same ids, and Ann's `a`.
    let al = records::UserId::new("al");
    assert!(world.ledger.store().create_user(&al, &Default::default()).await.unwrap());
    let mut runs = Vec::new();
    for id in ["a", "b", "c", "d"] {
        runs.push(world.claimed(id).await);
        world.ledger.create_conversation(&al, new_conversation(id), None).await.unwrap();
    }
    let completion_of = |index: usize, outcome| completion(&runs[index], outcome, Results::default());
    let others = "select from conversations where user_id = 'al' or conversation_id = 'a' for update";
    let mut holder = world.database.hold_locks(others).await;
    world.ledger.complete(&completion_of(3, Outcome::Discarded)).await.unwrap();
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let (ledger, kept, discarded) =
        (world.ledger.clone(), completion_of(1, Outcome::Kept), completion_of(2, Outcome::Discarded));
    // Concurrent: one batch of both outcomes.
    let operation = async move { tokio::join!(ledger.complete(&kept), ledger.complete(&discarded)) };
    let held = "select from conversations where user_id = 'ann' and conversation_id = 'c' for update";
    let probe =
        "select from conversations where user_id = 'al' or conversation_id = 'a' for no key update nowait";
    let (free, (kept, discarded)) = is_free_while(&world, held, operation, probe).await;
    assert!(free, "only its own two are locked");
    assert_eq!((kept.is_ok(), discarded.is_ok()), (true, true));
}

#[tokio::test]
async fn completion_is_not_delayed_by_another_locked_job() {
    let world = World::new().await;
    let (held, free) = (world.claimed("held").await, world.claimed("free").await);
    let rows = "select from finalization_jobs where conversation_id = 'held' for update";
    let mut holder = world.database.hold_locks(rows).await;
    let (ledger, job) = (world.ledger.clone(), free.job.id.clone());
    let completions = [held, free].map(|run| completion(&run, Outcome::Kept, Results::default()));
    // Concurrent: one batch.
    let operation = tokio::spawn(async move {
        let [held, free] = &completions;
        tokio::join!(ledger.complete(held), ledger.complete(free))
    });
    // Only the other run waits for the lock, behind the batch.
    world.database.until_somebody_waits().await;
    assert_eq!(world.job(&job).await.state, job::State::Completed { outcome: Outcome::Kept });
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let (held, free) = operation.await.unwrap();
    assert_eq!((held.is_ok(), free.is_ok()), (true, true));
}

#[tokio::test]
async fn completion_locks_no_other_user() {
    let three = ThreeConversations::new().await;
    let runs = three.claimed().await;
    let (ledger, run) = (three.world.ledger.clone(), runs[0].clone());
    let operation = async move {
        ledger.complete(&completion(&run, job::Outcome::Kept, Default::default())).await.unwrap()
    };
    let held = "select from finalization_jobs for update";
    let bob = "select from users where user_id = 'bob' for no key update nowait";
    let (free, _) = is_free_while(&three.world, held, operation, bob).await;
    assert!(free);
}

#[tokio::test]
async fn completion_locks_no_other_conversation() {
    for probe in [
        "select from conversations where user_id = 'bob' for no key update nowait",
        "select from conversations where conversation_id = 'd' for no key update nowait",
    ] {
        let three = ThreeConversations::new().await;
        let runs = three.claimed().await;
        let (ledger, run) = (three.world.ledger.clone(), runs[0].clone());
        let operation = async move {
            ledger.complete(&completion(&run, job::Outcome::Kept, results("First", &run))).await.unwrap()
        };
        // By then the conversation is written, and its memories are not.
        let held = "lock table memories in share mode";
        let (free, _) = is_free_while(&three.world, held, operation, probe).await;
        assert!(free, "{probe}");
    }
}
