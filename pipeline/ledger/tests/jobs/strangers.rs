//! A command for one conversation changes nothing else: not the user's other ones, and not those of another user who
//! has a conversation of the very same id.

use chrono::Duration;
use job::{FailureCode, Outcome};
use ledger::{
    CheckpointKey, Claimed, Content, CreateOutcome, Finished, LeaseToken, NewConversation, NewItem,
    NewMemory, Operation, Results, Transition,
};
use records::{ConversationId, MemoryCategory, UserId};
use serde_json::json;
use store::UserChange;

use crate::{
    street::{KEY, Street, c, results},
    world::{REPLAY, fail, operate, said, talk},
};

#[tokio::test]
async fn a_run_that_fails_or_is_given_back_concerns_its_own_conversation_alone() {
    let street = Street::new().await;
    let claimed = street.claimed().await;
    street.spared(street.settle(&claimed[0], fail(FailureCode::ModelTimeout))).await;
    street.world.age(&claimed[0].job.id, Duration::hours(1)).await;
    let again = street.spared(street.world.claim(&claimed[0].job.id)).await;
    street.spared(street.settle(&again, Transition::Release { delay: Duration::zero() })).await;
    let last = street.spared(street.world.claim(&claimed[0].job.id)).await;
    street.spared(street.settle(&last, fail(FailureCode::InvalidJob))).await;
}

#[tokio::test]
async fn a_replay_concerns_its_own_conversation_alone() {
    let street = Street::new().await;
    let dead = street.dead().await;
    let (ledger, job) = (&street.world.ledger, &dead[0].job.id);
    street.spared(async { operate(ledger, job, REPLAY).await.unwrap() }).await;
    let run = street.spared(street.world.claim(job)).await;
    let transition = fail(FailureCode::InvalidJob);
    street.settle(&run, transition).await;
    street
        .spared(async { operate(ledger, job, Operation::Replay { from_scratch: true }).await.unwrap() })
        .await;
    assert_eq!(ledger.recall(&run.lease_token(), &KEY).await.unwrap(), None);
    assert_eq!(ledger.recall(&dead[1].lease_token(), &KEY).await.unwrap(), Some(json!("ann")));
}

#[tokio::test]
async fn a_later_revision_of_one_conversation_supersedes_no_other() {
    let street = Street::new().await;
    let dead = street.dead().await;
    let ledger = &street.world.ledger;
    // Ann's `c` is at its second revision now: only its own first can be replayed no more.
    street.spared(async { ledger.reprocess(&street.world.ann, &c(), None).await.unwrap().unwrap() }).await;
    let replayed = async |run: &Claimed| operate(ledger, &run.job.id, REPLAY).await;
    assert_eq!(replayed(&dead[0]).await.unwrap_err(), job::Refusal::Superseded);
    assert!(replayed(&dead[1]).await.is_ok());
    assert!(replayed(&dead[2]).await.is_ok());
}

#[tokio::test]
async fn the_conversation_of_somebody_else_is_no_ground_for_a_replay() {
    let street = Street::new().await;
    let dead = street.dead().await;
    // Ann's `c` is gone, though its mark as failed stays in the job; Bob's and Ann's `d` are there.
    street.world.run("delete from conversations where user_id = 'ann' and conversation_id = 'c'").await;
    let refused = street.world.operate(&dead[0].job.id, REPLAY).await;
    assert_eq!(refused.unwrap_err(), job::Refusal::ConversationGone);
}

#[tokio::test]
async fn somebody_elses_mark_parks_nothing_of_ones_own() {
    let street = Street::new().await;
    let dead = street.dead().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    street.world.ledger.change_user(&street.bob, &marked).await.unwrap().unwrap();
    let replayed = async |run: &Claimed| street.world.operate(&run.job.id, REPLAY).await.unwrap();
    assert_eq!(replayed(&dead[0]).await.state.status(), "queued");
    assert_eq!(replayed(&dead[2]).await.state.status(), "blocked_byok");
}

#[tokio::test]
async fn marking_a_person_concerns_that_persons_jobs_alone() {
    let street = Street::new().await;
    street.admitted().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    street.world.ledger.change_user(&street.bob, &marked).await.unwrap().unwrap();
    let parked = "select count(*) from finalization_jobs where status = 'blocked_byok' and requires_keys";
    assert_eq!(street.world.count(parked).await, 1);
    let ann = street.world.ledger.store().user(&street.world.ann).await.unwrap().unwrap();
    assert!(!ann.requires_byok);
    // Ann's later requests wait for no keys.
    for job in [street.world.admitted("e").await, {
        let id = street.world.deferred("f").await;
        street.world.ledger.finalize(&street.world.ann, &id, None).await.unwrap().unwrap().job.unwrap()
    }] {
        assert_eq!(street.world.job(&job).await.state.status(), "queued");
    }
    let read = street.world.ledger.store().user(&street.bob).await.unwrap().unwrap();
    assert_eq!((read.id.as_str(), read.requires_byok), ("bob", true));
}

#[tokio::test]
async fn a_deletion_concerns_its_own_conversation_alone() {
    let street = Street::new().await;
    let ledger = &street.world.ledger;
    // Completed, with a delivery that was given up and keeps its body, and one that waits; then again under way.
    street.completed().await;
    street
        .world
        .run(
            "update webhook_deliveries set status = 'exhausted', next_at = null, finished_at = clock_timestamp(), \
                 body = 'words'",
        )
        .await;
    for (user, id) in street.all() {
        let admitted = ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap();
        let run = street.world.claim(&admitted.job_id).await;
        street.complete(&run, Outcome::Kept, &results("Second", &run)).await;
        ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap();
    }
    street.world.run("update webhook_deliveries set body = 'words' where status = 'pending'").await;
    assert!(
        street.spared(async { ledger.delete_conversation(&street.world.ann, &c()).await.unwrap() }).await
    );
    for nothing in [
        "select count(*) from conversations where user_id = 'ann' and conversation_id = 'c'",
        "select count(*) from webhook_deliveries where user_id = 'ann' and conversation_id = 'c' \
             and (body is not null or status = 'pending')",
        "select count(*) from stage_checkpoints k join finalization_jobs j using (user_id, job_id) \
             where j.user_id = 'ann' and j.conversation_id = 'c'",
    ] {
        assert_eq!(street.world.count(nothing).await, 0, "{nothing}");
    }
    // What was delivered before the deletion is recorded as delivered, without its words.
    let given_up = "select count(*) from webhook_deliveries where user_id = 'ann' and conversation_id = 'c' \
        and status = 'exhausted'";
    assert_eq!(street.world.count(given_up).await, 1);
    assert!(
        !street.spared(async { ledger.delete_conversation(&street.world.ann, &c()).await.unwrap() }).await
    );
}

#[tokio::test]
async fn the_deletion_of_somebody_elses_conversation_is_no_deletion_of_ones_own() {
    let street = Street::new().await;
    street.admitted().await;
    let ledger = &street.world.ledger;
    assert!(ledger.delete_conversation(&street.bob, &c()).await.unwrap());
    assert!(ledger.delete_conversation(&street.world.ann, &ConversationId::new("d")).await.unwrap());
    let create = async |user: &UserId, id: &str| {
        let new = NewConversation { client_session_id: Some(format!("{user} {id}")), ..talk(id) };
        ledger.create_conversation(user, new).await.unwrap()
    };
    assert_eq!(create(&street.bob, "c").await, CreateOutcome::Deleted);
    assert!(matches!(create(&street.bob, "d").await, CreateOutcome::Admitted(_)));
    assert!(matches!(create(&street.world.ann, "e").await, CreateOutcome::Admitted(_)));
    assert!(matches!(create(&street.world.ann, "c").await, CreateOutcome::Known(_)));
}

#[tokio::test]
async fn a_completion_concerns_its_own_conversation_alone() {
    for outcome in [Outcome::Kept, Outcome::Discarded] {
        let street = Street::new().await;
        street.completed().await;
        let ledger = &street.world.ledger;
        let mut runs = Vec::new();
        for (user, id) in street.all() {
            let admitted = ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap();
            runs.push(street.world.claim(&admitted.job_id).await);
        }
        street.spared(street.complete(&runs[0], outcome, &results("Second", &runs[0]))).await;
        let other =
            street.world.ledger.store().conversation(&street.bob, &c(), false).await.unwrap().unwrap();
        assert_eq!(other.conversation.structured.title, "First of bob c");
    }
}

#[tokio::test]
async fn what_somebody_else_has_already_is_news_to_oneself() {
    let street = Street::new().await;
    let runs = street.claimed().await;
    let same = || Results {
        items: vec![NewItem { description: "Call Tom".into(), due_at: None }],
        memories: vec![NewMemory { content: "Likes tea".into(), category: MemoryCategory::Core }],
        ..Results::default()
    };
    let done = |items, memories| Finished::Completed { items, memories, deliveries: 0 };
    assert_eq!(street.complete(&runs[2], Outcome::Kept, &same()).await, done(1, 1));
    assert_eq!(street.complete(&runs[0], Outcome::Kept, &same()).await, done(1, 1));
    assert_eq!(street.complete(&runs[1], Outcome::Kept, &same()).await, done(0, 0));
}

#[tokio::test]
async fn a_new_revision_concerns_its_own_conversation_alone() {
    let street = Street::new().await;
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    street.completed().await;
    street.spared(async { ledger.reprocess(ann, &c(), None).await.unwrap().unwrap() }).await;
    let nobody = UserId::new("nobody");
    let refused = ledger.reprocess(&nobody, &c(), None).await.unwrap().unwrap_err();
    assert_eq!(refused, ledger::ReprocessRefusal::NoConversation);

    let street = Street::new().await;
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    street.dead().await;
    let admitted =
        street.spared(async { ledger.finalize(ann, &c(), None).await.unwrap().unwrap().job.unwrap() }).await;
    assert_eq!(street.world.view(&admitted).await.revision, 2);
    // Of those whose job is there already, everybody is answered their own, the newest.
    assert_eq!(ledger.finalize(ann, &c(), None).await.unwrap().unwrap().job, Some(admitted));

    let street = Street::new().await;
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    street.dead().await;
    let again = NewConversation { client_session_id: Some("ann c".into()), ..talk("c") };
    let made = street.spared(async { ledger.create_conversation(ann, again).await.unwrap() }).await;
    let CreateOutcome::Admitted(admitted) = made else { panic!("{made:?}") };
    assert_eq!(street.world.view(&admitted.job_id).await.revision, 2);
}

#[tokio::test]
async fn a_finalize_that_is_repeated_is_answered_ones_own_newest_job() {
    let street = Street::new().await;
    let first = street.dead().await;
    let ledger = &street.world.ledger;
    for (user, id) in street.all() {
        let id = ConversationId::new(id);
        let second = ledger.finalize(user, &id, None).await.unwrap().unwrap().job.unwrap();
        assert_eq!(ledger.finalize(user, &id, None).await.unwrap().unwrap().job, Some(second.clone()));
        assert!(first.iter().all(|run| run.job.id != second));
    }
}

#[tokio::test]
async fn words_and_finalizes_concern_their_own_conversation_alone() {
    let street = Street::new().await;
    street.deferred().await;
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    let appended =
        street.spared(async { ledger.store().append_segments(ann, &c(), &[said("t")]).await.unwrap() }).await;
    assert_eq!(appended.unwrap(), 2);
    street.spared(async { ledger.finalize(ann, &c(), None).await.unwrap().unwrap().job.unwrap() }).await;
}

#[tokio::test]
async fn somebody_elses_words_are_no_content_of_ones_own() {
    let street = Street::new().await;
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    street.deferred().await;
    street
        .world
        .run(
            "insert into photos (user_id, conversation_id, photo_id, base64) \
                 select user_id, conversation_id, 'p', '' from conversations \
                 where user_id = 'bob' or conversation_id = 'd'; \
             delete from transcript_segments where user_id = 'ann' and conversation_id = 'c'",
        )
        .await;
    let refused = ledger.finalize(ann, &c(), None).await.unwrap().unwrap_err();
    assert_eq!(refused, ledger::AdmitRefusal::NoContent);
    street.world.run("update conversations set status = 'failed', finalization_revision = 1").await;
    let refused = ledger.reprocess(ann, &c(), None).await.unwrap().unwrap_err();
    assert_eq!(refused, ledger::ReprocessRefusal::NoContent);
}

#[tokio::test]
async fn a_run_reads_its_own_conversation_and_person_alone() {
    let street = Street::new().await;
    let runs = street.completed().await;
    street
        .world
        .run(
            "update users set time_zone = 'Europe/Berlin' where user_id = 'ann'; \
             update conversations set private_text = user_id || ' ' || conversation_id",
        )
        .await;
    let input = street.world.ledger.run_input(&runs[0]).await.unwrap().unwrap();
    assert_eq!(input.time_zone, "Europe/Berlin");
    assert_eq!(input.content, Content::Text("ann c".to_owned()));
    let items: Vec<_> = input.recent_items.iter().map(|item| item.description.as_str()).collect();
    assert_eq!(items, ["Do First of ann d"]);
    assert_eq!(input.memories, ["Knows First of ann d"]);
    assert_eq!(input.folders.len(), 3);
}

#[tokio::test]
async fn words_are_read_with_their_own_conversation_alone() {
    let street = Street::new().await;
    street.deferred().await;
    street.world.run("update transcript_segments set content = user_id || ' ' || conversation_id").await;
    let words =
        |segments: &[records::Segment]| segments.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
    let (ledger, d) = (&street.world.ledger, ConversationId::new("d"));
    for (user, id, own) in
        [(&street.world.ann, c(), "ann c"), (&street.world.ann, d, "ann d"), (&street.bob, c(), "bob c")]
    {
        let view = ledger.store().conversation(user, &id, true).await.unwrap().unwrap();
        assert_eq!(words(&view.segments.unwrap()), [own], "shown");
        let job = ledger.finalize(user, &id, None).await.unwrap().unwrap().job.unwrap();
        let input = ledger.run_input(&street.world.claim(&job).await).await.unwrap().unwrap();
        let Content::Segments(segments) = input.content else { panic!("it was spoken") };
        assert_eq!(words(&segments), [own], "run");
    }
}

#[tokio::test]
async fn a_checkpoint_is_read_and_written_by_its_own_run_alone() {
    let street = Street::new().await;
    let runs = street.claimed().await;
    let ledger = &street.world.ledger;
    let forged = LeaseToken { user_id: street.bob.clone(), ..runs[0].lease_token() };
    let others = CheckpointKey { stage: "items", ..KEY };
    assert!(!ledger.record(&forged, &others, &json!("forged"), false, &[]).await.unwrap());
    assert_eq!(ledger.recall(&forged, &KEY).await.unwrap(), None);
    assert_eq!(ledger.recall(&runs[2].lease_token(), &KEY).await.unwrap(), Some(json!("bob")));
    for other in [CheckpointKey { version: 2, ..KEY }, CheckpointKey { digest: [8; 32], ..KEY }, others] {
        assert_eq!(ledger.recall(&runs[0].lease_token(), &other).await.unwrap(), None);
    }
}

#[tokio::test]
async fn one_job_is_deferred_alone() {
    let street = Street::new().await;
    let jobs = street.admitted().await;
    for job in &jobs {
        street.world.age(job, Duration::hours(1)).await;
    }
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    street.spared(async { ledger.defer(ann, &jobs[0]).await.unwrap() }).await;
    let deferred = "select count(*) from finalization_jobs where ready_at > now()";
    assert_eq!(street.world.count(deferred).await, 1);
}

#[tokio::test]
async fn people_who_finalize_in_one_breath_have_each_their_own_mark() {
    let street = Street::new().await;
    street.deferred().await;
    let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
    street.world.ledger.change_user(&street.bob, &marked).await.unwrap().unwrap();
    let (ledger, c) = (&street.world.ledger, c());
    let (ann, bob) =
        tokio::join!(ledger.finalize(&street.world.ann, &c, None), ledger.finalize(&street.bob, &c, None));
    let status = async |job| street.world.job(&job).await.state.status();
    assert_eq!(status(ann.unwrap().unwrap().job.unwrap()).await, "queued");
    assert_eq!(status(bob.unwrap().unwrap().job.unwrap()).await, "blocked_byok");
}

#[tokio::test]
async fn speakers_are_numbered_within_their_own_conversation() {
    let street = Street::new().await;
    street.deferred().await;
    let spoken = |id: &str, speaker: &str| records::Segment { speaker: Some(speaker.into()), ..said(id) };
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    for (user, id) in [(ann, "d"), (&street.bob, "c")] {
        let others = [spoken("x", "X"), spoken("y", "Y")];
        ledger.store().append_segments(user, &ConversationId::new(id), &others).await.unwrap().unwrap();
    }
    ledger.store().append_segments(ann, &c(), &[spoken("z", "Z")]).await.unwrap().unwrap();
    let second = "select speaker_id::bigint from transcript_segments where speaker = 'Z'";
    assert_eq!(street.world.count(second).await, 1);
}

#[tokio::test]
async fn what_was_deleted_and_made_again_can_be_deleted_again() {
    let street = Street::new().await;
    let (ledger, ann) = (&street.world.ledger, &street.world.ann);
    for _ in 0..2 {
        street.world.admitted("again").await;
        assert!(ledger.delete_conversation(ann, &ConversationId::new("again")).await.unwrap());
        street.world.run("delete from finalization_jobs; delete from finalization_admissions").await;
    }
}

#[tokio::test]
async fn whoever_creates_again_or_processes_again_is_answered_their_own_conversation() {
    let street = Street::new().await;
    let ledger = &street.world.ledger;
    street.admitted().await;
    for (user, id) in street.all() {
        let own = (user.clone(), ConversationId::new(id));
        let repeated = NewConversation { client_session_id: Some(format!("{user} {id}")), ..talk(id) };
        match ledger.create_conversation(user, repeated).await.unwrap() {
            CreateOutcome::Known(known) => assert_eq!((known.user_id, known.id), own),
            other => panic!("not known: {other:?}"),
        }
        let repeated = ledger.reprocess(user, &own.1, None).await.unwrap().unwrap();
        assert!(!repeated.fresh);
        assert_eq!((repeated.conversation.user_id, repeated.conversation.id), own);
    }
}
