//! What a verb holds while it waits: who would change what it has read must wait for it. Each verb is brought to a stop
//! by a row that another session locks further down the order of locks; then the locks that it has by then are checked.

use job::Outcome;
use ledger::{CheckpointKey, CreateOutcome, NewConversation, Results, WithKeys};
use records::ConversationId;
use serde_json::json;

use crate::world::{REPLAY, World, completion, operate, said, talk};

/// Starts `verb`, which stops where `held` holds rows, and answers whether `probe` could lock its row meanwhile. The
/// verb then goes on to its end.
pub(crate) async fn is_free_while<T: Send + 'static>(
    world: &World,
    held: &'static str,
    verb: impl Future<Output = T> + Send + 'static,
    probe: &'static str,
) -> (bool, T) {
    let mut holder = world.database.hold_locks(held).await;
    let verb = tokio::spawn(verb);
    world.database.until_somebody_waits().await;
    let free = sqlx::raw_sql(probe).execute(&world.pool).await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    (free.is_ok(), verb.await.unwrap())
}

const ANN: &str = "select from users where user_id = 'ann' for no key update nowait";

#[tokio::test]
async fn who_is_admitted_cannot_be_marked_meanwhile() {
    let world = World::new().await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let held = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
            language, source, status) \
        values ('ann', 'c', now(), now(), now(), now(), 'en', 'phone', 'processing')";
    let verb = async move { ledger.create_conversation(&ann, talk("c")).await.unwrap() };
    let (free, _) = is_free_while(&world, held, verb, ANN).await;
    assert!(!free, "a create holds its person's mark");
}

#[tokio::test]
async fn a_finalize_holds_its_person_and_then_its_conversation() {
    const CONVERSATION: &str = "select from conversations for no key update nowait";
    for (held, probe, is_free) in [
        ("select from users for update", CONVERSATION, true),
        ("select from conversations for update", ANN, false),
        ("insert into finalization_admissions values ('ann', 'c', 1, 'another', now())", CONVERSATION, false),
    ] {
        let world = World::new().await;
        let id = world.deferred("c").await;
        let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
        let verb = async move { ledger.finalize(&ann, &id, None).await.unwrap().unwrap() };
        let (free, admitted) = is_free_while(&world, held, verb, probe).await;
        assert_eq!(free, is_free, "{held}");
        assert!(admitted.job.is_some());
    }
}

#[tokio::test]
async fn who_goes_step_by_step_holds_person_and_conversation_before_it_looks() {
    for probe in [ANN, "select from conversations for no key update nowait"] {
        let world = World::new().await;
        let id = world.deferred("c").await;
        let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
        let verb = async move {
            let keys = WithKeys { claimant: None };
            ledger.finalize_with_keys(&ann, &id, None, keys).await.unwrap().unwrap()
        };
        // It stops where it would look at what was said.
        let held = "lock table transcript_segments in access exclusive mode";
        let (free, finalized) = is_free_while(&world, held, verb, probe).await;
        assert!(!free, "{probe}");
        assert!(finalized.fresh);
    }
}

#[tokio::test]
async fn who_is_replayed_cannot_be_marked_meanwhile_and_the_conversation_stays() {
    for (held, probe) in [
        ("select from conversations for update", ANN),
        ("select from finalization_jobs for update", "select from conversations for no key update nowait"),
    ] {
        let world = World::new().await;
        let job = world.dead("c", job::FailureCode::InvalidJob).await;
        let ledger = world.ledger.clone();
        let verb = async move { operate(&ledger, &job, REPLAY).await.unwrap() };
        let (free, _) = is_free_while(&world, held, verb, probe).await;
        assert!(!free, "{probe}");
    }
}

#[tokio::test]
async fn whose_things_are_compared_can_be_given_no_others_meanwhile() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let ledger = world.ledger.clone();
    let verb = async move { ledger.complete(&completion(&run, Outcome::Kept, Results::default())).await };
    let (free, finished) = is_free_while(&world, "select from finalization_jobs for update", verb, ANN).await;
    assert!(!free, "a completion holds its person");
    finished.unwrap();
}

#[tokio::test]
async fn nobody_takes_a_job_over_while_its_run_records() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    const KEY: CheckpointKey = CheckpointKey { stage: "structure", version: 1, digest: [7; 32] };
    let ledger = world.ledger.clone();
    let verb = async move { ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[]).await.unwrap() };
    let held = "insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
        select user_id, job_id, 'structure', 1, decode(repeat('07', 32), 'hex'), '0', 1 from finalization_jobs";
    let probe = "select from finalization_jobs for no key update nowait";
    let (free, recorded) = is_free_while(&world, held, verb, probe).await;
    assert!(!free, "a checkpoint holds the lease that it is written under");
    assert!(recorded);
}

#[tokio::test]
async fn a_conversation_that_is_admitted_takes_no_more_words() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.ledger.store().append_segments(&world.ann, &id, &[said("s")]).await.unwrap().unwrap();
    let verb = async { world.ledger.store().append_segments(&world.ann, &id, &[said("t")]).await.unwrap() };
    // An admission locks it; the append waits, and then finds it admitted.
    let admitted = "update conversations set status = 'processing'";
    let appended = world.database.overtaken_by(admitted, verb).await;
    assert_eq!(appended, Err(store::AppendRefusal::NotInProgress));
    assert_eq!(world.count("select count(*) from transcript_segments").await, 1);
}

#[tokio::test]
async fn a_conversation_that_somebody_else_admitted_meanwhile_is_not_admitted_again() {
    let world = World::new().await;
    world.deferred("c").await;
    for reprocess in [false, true] {
        let (from, to) = if reprocess { ("failed", "in_progress") } else { ("in_progress", "completed") };
        sqlx::query("update conversations set status = $1").bind(from).execute(&world.pool).await.unwrap();
        let id = ConversationId::new("c");
        let verb = async {
            match reprocess {
                true => drop(world.ledger.reprocess(&world.ann, &id, None).await.unwrap()),
                false => drop(world.ledger.finalize(&world.ann, &id, None).await.unwrap()),
            }
        };
        let changed = format!("update conversations set status = '{to}'");
        world.database.overtaken_by(&changed, verb).await;
        assert_eq!(world.count("select count(*) from finalization_jobs").await, 0, "{from} was {to} by then");
    }
}

#[tokio::test]
async fn a_failed_conversation_that_somebody_else_opened_meanwhile_is_not_opened_again() {
    let world = World::new().await;
    let session = || NewConversation { client_session_id: Some("s".into()), ..talk("c") };
    world.ledger.create_conversation(&world.ann, session()).await.unwrap();
    world.run("delete from finalization_jobs; update conversations set status = 'failed'").await;
    let mut holder = world.database.hold_locks("select from conversations for update").await;
    let (ledger, ann, again) = (world.ledger.clone(), world.ann.clone(), session());
    let verb = tokio::spawn(async move { ledger.create_conversation(&ann, again).await.unwrap() });
    world.database.until_somebody_waits().await;
    // It found the conversation failed, and waits to open it; by then another session has.
    let opened = "update conversations set status = 'processing'; commit";
    sqlx::raw_sql(opened).execute(&mut holder).await.unwrap();
    let known = verb.await.unwrap();
    assert!(matches!(known, CreateOutcome::Known(_)), "{known:?}");
    assert_eq!(world.count("select count(*) from finalization_jobs").await, 0);
}

#[tokio::test]
async fn a_job_that_is_admitted_while_its_conversation_is_deleted_is_withdrawn_too() {
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
    let verb = tokio::spawn(async move { ledger.delete_conversation(&ann, &id).await.unwrap() });
    world.database.until_somebody_waits().await;
    // It found no live job, and waits for the conversation; by then there is one.
    let admitted = "update finalization_jobs set status = 'queued', outcome = null, finished_at = null, \
            ready_at = now(), reconcile_after_at = now(), version = version + 1; \
        commit";
    sqlx::raw_sql(admitted).execute(&mut holder).await.unwrap();
    assert!(verb.await.unwrap());
    let withdrawn = job::State::Completed { outcome: Outcome::Withdrawn };
    assert_eq!(world.job(&job).await.state, withdrawn);
}

#[tokio::test]
async fn completions_wait_for_nobody_elses_conversation_and_hold_none() {
    let world = World::new().await;
    // A statement that locks too many rows locks those that come first: Al's of the same ids, and Ann's `a`.
    let al = records::UserId::new("al");
    assert!(world.ledger.store().create_user(&al, &Default::default()).await.unwrap());
    let mut runs = Vec::new();
    for id in ["a", "b", "c", "d"] {
        runs.push(world.claimed(id).await);
        world.ledger.create_conversation(&al, talk(id)).await.unwrap();
    }
    let asked = |place: usize, outcome| completion(&runs[place], outcome, Results::default());
    let others = "select from conversations where user_id = 'al' or conversation_id = 'a' for update";
    let mut holder = world.database.hold_locks(others).await;
    world.ledger.complete(&asked(3, Outcome::Discarded)).await.unwrap();
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let (ledger, kept, discarded) =
        (world.ledger.clone(), asked(1, Outcome::Kept), asked(2, Outcome::Discarded));
    // Asked in the same breath: one batch of both kinds.
    let verb = async move { tokio::join!(ledger.complete(&kept), ledger.complete(&discarded)) };
    let held = "select from conversations where user_id = 'ann' and conversation_id = 'c' for update";
    let probe =
        "select from conversations where user_id = 'al' or conversation_id = 'a' for no key update nowait";
    let (free, (kept, discarded)) = is_free_while(&world, held, verb, probe).await;
    assert!(free, "its own two are held");
    assert_eq!((kept.is_ok(), discarded.is_ok()), (true, true));
}

#[tokio::test]
async fn a_run_ends_while_somebody_holds_the_job_of_another() {
    let world = World::new().await;
    let (held, free) = (world.claimed("held").await, world.claimed("free").await);
    let rows = "select from finalization_jobs where conversation_id = 'held' for update";
    let mut holder = world.database.hold_locks(rows).await;
    let (ledger, job) = (world.ledger.clone(), free.job.id.clone());
    let asked = [held, free].map(|run| completion(&run, Outcome::Kept, Results::default()));
    // Asked in the same breath: one batch.
    let verb = tokio::spawn(async move {
        let [held, free] = &asked;
        tokio::join!(ledger.complete(held), ledger.complete(free))
    });
    // Who waits for the lock is the other run alone, behind the batch.
    world.database.until_somebody_waits().await;
    assert_eq!(world.job(&job).await.state, job::State::Completed { outcome: Outcome::Kept });
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let (held, free) = verb.await.unwrap();
    assert_eq!((held.is_ok(), free.is_ok()), (true, true));
}
