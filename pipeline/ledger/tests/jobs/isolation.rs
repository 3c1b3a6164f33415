//! Isolation: an operation on one conversation changes nothing else, neither the user's other conversations nor
//! another user's conversation with the same id.

use chrono::Duration;
use job::{FailureCode, Outcome};
use ledger::{
    CheckpointKey, CreateOutcome, Finished, LeaseToken, NewConversation, NewItem, NewMemory, Operation,
    Results, StoredJob, Transition,
};
use records::{ConversationId, MemoryCategory, Talk, UserId};
use serde_json::json;
use store::UserChange;

use crate::{
    three_conversations::{KEY, ThreeConversations, c, results},
    world::{REPLAY, fail, new_conversation, operate, segment},
};

#[tokio::test]
async fn fail_and_release_change_no_other_conversation() {
    let three = ThreeConversations::new().await;
    let claimed = three.claimed().await;
    three.changes_no_other_rows(three.settle(&claimed[0], fail(FailureCode::ModelTimeout))).await;
    three.world.age(&claimed[0].job.id, Duration::hours(1)).await;
    let again = three.changes_no_other_rows(three.world.claim(&claimed[0].job.id)).await;
    three.changes_no_other_rows(three.settle(&again, Transition::Release { delay: Duration::zero() })).await;
    let last = three.changes_no_other_rows(three.world.claim(&claimed[0].job.id)).await;
    three.changes_no_other_rows(three.settle(&last, fail(FailureCode::InvalidJob))).await;
}

#[tokio::test]
async fn replay_changes_no_other_conversation() {
    let three = ThreeConversations::new().await;
    let dead = three.dead().await;
    let (ledger, job) = (&three.world.ledger, &dead[0].job.id);
    three.changes_no_other_rows(async { operate(ledger, job, REPLAY).await.unwrap() }).await;
    let run = three.changes_no_other_rows(three.world.claim(job)).await;
    let transition = fail(FailureCode::InvalidJob);
    three.settle(&run, transition).await;
    three
        .changes_no_other_rows(async {
            operate(ledger, job, Operation::Replay { from_scratch: true }).await.unwrap()
        })
        .await;
    assert_eq!(ledger.recall(&run.lease_token(), &KEY).await.unwrap(), None);
    assert_eq!(ledger.recall(&dead[1].lease_token(), &KEY).await.unwrap(), Some(json!("ann")));
}

#[tokio::test]
async fn reprocess_supersedes_no_other_conversations_dead_letter() {
    let three = ThreeConversations::new().await;
    let dead = three.dead().await;
    let ledger = &three.world.ledger;
    // Ann's `c` is at its second revision now: only its own first can no longer be replayed.
    three
        .changes_no_other_rows(async {
            ledger.reprocess(&three.world.ann, &c(), None).await.unwrap().unwrap()
        })
        .await;
    let replayed = async |run: &StoredJob| operate(ledger, &run.job.id, REPLAY).await;
    assert_eq!(replayed(&dead[0]).await.unwrap_err(), job::Refusal::Superseded);
    assert!(replayed(&dead[1]).await.is_ok());
    assert!(replayed(&dead[2]).await.is_ok());
}

#[tokio::test]
async fn replay_is_refused_when_only_another_users_conversation_exists() {
    let three = ThreeConversations::new().await;
    let dead = three.dead().await;
    // Ann's `c` is deleted; Bob's `c` and Ann's `d` exist.
    three.world.run("delete from conversations where user_id = 'ann' and conversation_id = 'c'").await;
    let refused = three.world.operate(&dead[0].job.id, REPLAY).await;
    assert_eq!(refused.unwrap_err(), job::Refusal::ConversationGone);
}

#[tokio::test]
async fn replay_is_not_parked_by_another_users_requires_byok() {
    let three = ThreeConversations::new().await;
    let dead = three.dead().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    three.world.ledger.change_user(&three.bob, &marked).await.unwrap().unwrap();
    let replayed = async |run: &StoredJob| three.world.operate(&run.job.id, REPLAY).await.unwrap();
    assert_eq!(replayed(&dead[0]).await.state.status(), "queued");
    assert_eq!(replayed(&dead[2]).await.state.status(), "blocked_byok");
}

#[tokio::test]
async fn requires_byok_changes_no_other_users_jobs() {
    let three = ThreeConversations::new().await;
    three.admitted().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    three.world.ledger.change_user(&three.bob, &marked).await.unwrap().unwrap();
    let parked = "select count(*) from finalization_jobs where status = 'blocked_byok' and requires_keys";
    assert_eq!(three.world.count(parked).await, 1);
    let ann = three.world.ledger.store().user(&three.world.ann).await.unwrap().unwrap();
    assert!(!ann.requires_byok);
    // Ann's later jobs wait for no keys.
    for job in [three.world.admitted("e").await, {
        let id = three.world.deferred("f").await;
        three.world.ledger.finalize(&three.world.ann, &id, None, None).await.unwrap().unwrap().job.unwrap()
    }] {
        assert_eq!(three.world.job(&job).await.state.status(), "queued");
    }
    let read = three.world.ledger.store().user(&three.bob).await.unwrap().unwrap();
    assert_eq!((read.id.as_str(), read.requires_byok), ("bob", true));
}

#[tokio::test]
async fn delete_conversation_changes_no_other_conversation() {
    let three = ThreeConversations::new().await;
    let ledger = &three.world.ledger;
    // Completed, with a given-up delivery that keeps its body and a pending one; then reprocessed again.
    three.completed().await;
    three
        .world
        .run(
            "update webhook_deliveries set status = 'exhausted', next_at = null, finished_at = clock_timestamp(), \
                 body = 'words'",
        )
        .await;
    for (user, id) in three.all() {
        let admitted = ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap();
        let run = three.world.claim(&admitted.job_id).await;
        three.complete(&run, Outcome::Kept, &results("Second", &run)).await;
        ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap();
    }
    three.world.run("update webhook_deliveries set body = 'words' where status = 'pending'").await;
    assert!(
        three
            .changes_no_other_rows(async {
                ledger.delete_conversation(&three.world.ann, &c()).await.unwrap()
            })
            .await
    );
    for nothing in [
        "select count(*) from conversations where user_id = 'ann' and conversation_id = 'c'",
        "select count(*) from webhook_deliveries where user_id = 'ann' and conversation_id = 'c' \
             and (body is not null or status = 'pending')",
        "select count(*) from stage_checkpoints k join finalization_jobs j using (user_id, job_id) \
             where j.user_id = 'ann' and j.conversation_id = 'c'",
    ] {
        assert_eq!(three.world.count(nothing).await, 0, "{nothing}");
    }
    // The given-up delivery stays on record, without its body.
    let given_up = "select count(*) from webhook_deliveries where user_id = 'ann' and conversation_id = 'c' \
        and status = 'exhausted'";
    assert_eq!(three.world.count(given_up).await, 1);
    assert!(
        !three
            .changes_no_other_rows(async {
                ledger.delete_conversation(&three.world.ann, &c()).await.unwrap()
            })
            .await
    );
}

#[tokio::test]
async fn deletion_mark_applies_to_its_own_user_and_id_only() {
    let three = ThreeConversations::new().await;
    three.admitted().await;
    let ledger = &three.world.ledger;
    assert!(ledger.delete_conversation(&three.bob, &c()).await.unwrap());
    assert!(ledger.delete_conversation(&three.world.ann, &ConversationId::new("d")).await.unwrap());
    let create = async |user: &UserId, id: &str| {
        let new = NewConversation { client_session_id: Some(format!("{user} {id}")), ..new_conversation(id) };
        ledger.create_conversation(user, new, None).await.unwrap()
    };
    assert_eq!(create(&three.bob, "c").await, CreateOutcome::Deleted);
    assert!(matches!(create(&three.bob, "d").await, CreateOutcome::Admitted(_)));
    assert!(matches!(create(&three.world.ann, "e").await, CreateOutcome::Admitted(_)));
    assert!(matches!(create(&three.world.ann, "c").await, CreateOutcome::Known(_)));
}

#[tokio::test]
async fn complete_changes_no_other_conversation() {
    for outcome in [Outcome::Kept, Outcome::Discarded] {
        let three = ThreeConversations::new().await;
        three.completed().await;
        let ledger = &three.world.ledger;
        let mut runs = Vec::new();
        for (user, id) in three.all() {
            let admitted = ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap();
            runs.push(three.world.claim(&admitted.job_id).await);
        }
        three.changes_no_other_rows(three.complete(&runs[0], outcome, &results("Second", &runs[0]))).await;
        let other = three.world.ledger.store().conversation(&three.bob, &c(), false).await.unwrap().unwrap();
        assert_eq!(other.conversation.structured.title, "First of bob c");
    }
}

#[tokio::test]
async fn complete_compares_with_the_users_own_items_only() {
    let three = ThreeConversations::new().await;
    let runs = three.claimed().await;
    let same = || Results {
        items: vec![NewItem { description: "Call Tom".into(), due_at: None }],
        memories: vec![NewMemory { content: "Likes tea".into(), category: MemoryCategory::Core }],
        ..Results::default()
    };
    let done = |items, memories| Finished::Completed { items, memories, deliveries: 0 };
    assert_eq!(three.complete(&runs[2], Outcome::Kept, &same()).await, done(1, 1));
    assert_eq!(three.complete(&runs[0], Outcome::Kept, &same()).await, done(1, 1));
    assert_eq!(three.complete(&runs[1], Outcome::Kept, &same()).await, done(0, 0));
}

#[tokio::test]
async fn new_revision_changes_no_other_conversation() {
    let three = ThreeConversations::new().await;
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    three.completed().await;
    three.changes_no_other_rows(async { ledger.reprocess(ann, &c(), None).await.unwrap().unwrap() }).await;
    let unknown = UserId::new("unknown");
    let refused = ledger.reprocess(&unknown, &c(), None).await.unwrap().unwrap_err();
    assert_eq!(refused, ledger::ReprocessRefusal::NoConversation);

    let three = ThreeConversations::new().await;
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    three.dead().await;
    let admitted = three
        .changes_no_other_rows(async {
            ledger.finalize(ann, &c(), None, None).await.unwrap().unwrap().job.unwrap()
        })
        .await;
    assert_eq!(three.world.view(&admitted).await.revision, 2);
    // A repeat returns the user's own newest job.
    assert_eq!(ledger.finalize(ann, &c(), None, None).await.unwrap().unwrap().job, Some(admitted));

    let three = ThreeConversations::new().await;
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    three.dead().await;
    let again = NewConversation { client_session_id: Some("ann c".into()), ..new_conversation("c") };
    let made = three
        .changes_no_other_rows(async { ledger.create_conversation(ann, again, None).await.unwrap() })
        .await;
    let CreateOutcome::Admitted(admitted) = made else { panic!("{made:?}") };
    assert_eq!(three.world.view(&admitted.job_id).await.revision, 2);
}

#[tokio::test]
async fn repeated_finalize_returns_the_conversations_own_newest_job() {
    let three = ThreeConversations::new().await;
    let first = three.dead().await;
    let ledger = &three.world.ledger;
    for (user, id) in three.all() {
        let id = ConversationId::new(id);
        let second = ledger.finalize(user, &id, None, None).await.unwrap().unwrap().job.unwrap();
        assert_eq!(ledger.finalize(user, &id, None, None).await.unwrap().unwrap().job, Some(second.clone()));
        assert!(first.iter().all(|run| run.job.id != second));
    }
}

#[tokio::test]
async fn append_and_finalize_change_no_other_conversation() {
    let three = ThreeConversations::new().await;
    three.deferred().await;
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    let appended = three
        .changes_no_other_rows(async {
            ledger.store().append_segments(ann, &c(), &[segment("t")]).await.unwrap()
        })
        .await;
    assert_eq!(appended.unwrap(), 2);
    three
        .changes_no_other_rows(async {
            ledger.finalize(ann, &c(), None, None).await.unwrap().unwrap().job.unwrap()
        })
        .await;
}

#[tokio::test]
async fn admission_is_refused_when_only_other_conversations_have_content() {
    let three = ThreeConversations::new().await;
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    three.deferred().await;
    three
        .world
        .run(
            "insert into photos (user_id, conversation_id, photo_id, base64) \
                 select user_id, conversation_id, 'p', '' from conversations \
                 where user_id = 'bob' or conversation_id = 'd'; \
             delete from transcript_segments where user_id = 'ann' and conversation_id = 'c'",
        )
        .await;
    let refused = ledger.finalize(ann, &c(), None, None).await.unwrap().unwrap_err();
    assert_eq!(refused, ledger::AdmitRefusal::NoContent);
    three.world.run("update conversations set status = 'failed', finalization_revision = 1").await;
    let refused = ledger.reprocess(ann, &c(), None).await.unwrap().unwrap_err();
    assert_eq!(refused, ledger::ReprocessRefusal::NoContent);
}

#[tokio::test]
async fn run_input_has_no_other_conversation_or_user() {
    let three = ThreeConversations::new().await;
    let runs = three.completed().await;
    three
        .world
        .run(
            "update users set time_zone = 'Europe/Berlin' where user_id = 'ann'; \
             update conversations set private_text = user_id || ' ' || conversation_id",
        )
        .await;
    let input = three.world.ledger.run_input(&runs[0]).await.unwrap().unwrap();
    assert_eq!(input.talk.time_zone.name(), "Europe/Berlin");
    assert_eq!(input.talk.lines, Talk::lines_of_text("ann c"));
    let items: Vec<_> = input.recent_items.iter().map(|item| item.description.as_str()).collect();
    assert_eq!(items, ["Do First of ann d"]);
    assert_eq!(input.memories, ["Knows First of ann d"]);
    assert_eq!(input.folders.len(), 3);
}

#[tokio::test]
async fn segments_are_read_with_their_own_conversation_only() {
    let three = ThreeConversations::new().await;
    three.deferred().await;
    three.world.run("update transcript_segments set content = user_id || ' ' || conversation_id").await;
    let words =
        |segments: &[records::Segment]| segments.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
    let (ledger, d) = (&three.world.ledger, ConversationId::new("d"));
    for (user, id, own) in
        [(&three.world.ann, c(), "ann c"), (&three.world.ann, d, "ann d"), (&three.bob, c(), "bob c")]
    {
        let view = ledger.store().conversation(user, &id, true).await.unwrap().unwrap();
        assert_eq!(words(&view.segments.unwrap()), [own], "shown");
        let job = ledger.finalize(user, &id, None, None).await.unwrap().unwrap().job.unwrap();
        let input = ledger.run_input(&three.world.claim(&job).await).await.unwrap().unwrap();
        let lines: Vec<_> = input.talk.lines.into_iter().map(|line| line.text).collect();
        assert_eq!(lines, [own], "run");
    }
}

#[tokio::test]
async fn checkpoint_is_read_and_written_by_its_own_run_only() {
    let three = ThreeConversations::new().await;
    let runs = three.claimed().await;
    let ledger = &three.world.ledger;
    let forged = LeaseToken { user_id: three.bob.clone(), ..runs[0].lease_token() };
    let others = CheckpointKey { stage: "items", ..KEY };
    assert!(!ledger.record(&forged, &others, &json!("forged"), false, &[]).await.unwrap());
    assert_eq!(ledger.recall(&forged, &KEY).await.unwrap(), None);
    assert_eq!(ledger.recall(&runs[2].lease_token(), &KEY).await.unwrap(), Some(json!("bob")));
    for other in [CheckpointKey { version: 2, ..KEY }, CheckpointKey { digest: [8; 32], ..KEY }, others] {
        assert_eq!(ledger.recall(&runs[0].lease_token(), &other).await.unwrap(), None);
    }
}

#[tokio::test]
async fn defer_changes_no_other_job() {
    let three = ThreeConversations::new().await;
    let jobs = three.admitted().await;
    for job in &jobs {
        three.world.age(job, Duration::hours(1)).await;
    }
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    three.changes_no_other_rows(async { ledger.defer(ann, &jobs[0]).await.unwrap() }).await;
    let deferred = "select count(*) from finalization_jobs where ready_at > now()";
    assert_eq!(three.world.count(deferred).await, 1);
}

#[tokio::test]
async fn finalize_batch_applies_requires_byok_per_user() {
    let three = ThreeConversations::new().await;
    three.deferred().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    three.world.ledger.change_user(&three.bob, &marked).await.unwrap().unwrap();
    let (ledger, c) = (&three.world.ledger, c());
    let (ann, bob) = tokio::join!(
        ledger.finalize(&three.world.ann, &c, None, None),
        ledger.finalize(&three.bob, &c, None, None)
    );
    let status = async |job| three.world.job(&job).await.state.status();
    assert_eq!(status(ann.unwrap().unwrap().job.unwrap()).await, "queued");
    assert_eq!(status(bob.unwrap().unwrap().job.unwrap()).await, "blocked_byok");
}

#[tokio::test]
async fn speakers_are_numbered_within_their_own_conversation() {
    let three = ThreeConversations::new().await;
    three.deferred().await;
    let spoken = |id: &str, speaker: &str| records::Segment { speaker: Some(speaker.into()), ..segment(id) };
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    for (user, id) in [(ann, "d"), (&three.bob, "c")] {
        let others = [spoken("x", "X"), spoken("y", "Y")];
        ledger.store().append_segments(user, &ConversationId::new(id), &others).await.unwrap().unwrap();
    }
    ledger.store().append_segments(ann, &c(), &[spoken("z", "Z")]).await.unwrap().unwrap();
    let second = "select speaker_id::bigint from transcript_segments where speaker = 'Z'";
    assert_eq!(three.world.count(second).await, 1);
}

#[tokio::test]
async fn conversation_can_be_deleted_recreated_and_deleted_again() {
    let three = ThreeConversations::new().await;
    let (ledger, ann) = (&three.world.ledger, &three.world.ann);
    for _ in 0..2 {
        three.world.admitted("again").await;
        assert!(ledger.delete_conversation(ann, &ConversationId::new("again")).await.unwrap());
        three.world.run("delete from finalization_jobs; delete from finalization_admissions").await;
    }
}

#[tokio::test]
async fn repeated_create_and_reprocess_return_the_users_own_conversation() {
    let three = ThreeConversations::new().await;
    let ledger = &three.world.ledger;
    three.admitted().await;
    for (user, id) in three.all() {
        let own = (user.clone(), ConversationId::new(id));
        let repeated =
            NewConversation { client_session_id: Some(format!("{user} {id}")), ..new_conversation(id) };
        match ledger.create_conversation(user, repeated, None).await.unwrap() {
            CreateOutcome::Known(known) => assert_eq!((known.user_id, known.id), own),
            other => panic!("not known: {other:?}"),
        }
        let repeated = ledger.reprocess(user, &own.1, None).await.unwrap().unwrap();
        assert!(!repeated.fresh);
        assert_eq!((repeated.conversation.user_id, repeated.conversation.id), own);
    }
}
