//! A dead letter discards its conversation, and whatever opens that again takes this back, but no discard of a person's.

use job::{FailureCode, JobId};
use records::ConversationId;
use serde_json::{Value, json};

use crate::world::{REPLAY, World, talk};

/// A conversation `c` that failed; its owner may have discarded it before, long ago.
async fn failed(by_person: bool) -> (World, JobId) {
    let world = World::new().await;
    let run = world.claimed("c").await;
    if by_person {
        world.run("update conversations set discarded = true, discarded_by_person = true").await;
    }
    world.fail(&run, FailureCode::InvalidJob).await;
    assert_eq!(marks(&world).await, ("failed".into(), true, !by_person));
    world.run("update conversations set updated_at = now() - interval '9 days'").await;
    (world, run.job.id)
}

/// The status, and whether it is discarded, and by its failure.
async fn marks(world: &World) -> (String, bool, bool) {
    world.row("select status, discarded, discarded_by_failure from conversations").await
}

async fn opened_by(how: &str, world: &World, job: &JobId) {
    let (ann, id) = (&world.ann, ConversationId::new("c"));
    match how {
        "a repeated create" => drop(world.ledger.create_conversation(ann, talk("c")).await.unwrap()),
        "a finalize" => drop(world.ledger.finalize(ann, &id, None).await.unwrap().unwrap()),
        "a reprocess" => drop(world.ledger.reprocess(ann, &id, None).await.unwrap().unwrap()),
        _ => {
            drop(world.operate(job, REPLAY).await.unwrap());
        }
    }
}

#[tokio::test]
async fn what_opens_a_failed_conversation_takes_its_failures_discard_back_and_no_persons() {
    for how in ["a repeated create", "a finalize", "a reprocess", "a replay"] {
        for by_person in [true, false] {
            let (world, job) = failed(by_person).await;
            opened_by(how, &world, &job).await;
            assert_eq!(marks(&world).await, ("processing".into(), by_person, false), "{how}, {by_person}");
            let moved = "select count(*) from conversations where updated_at > now() - interval '1 day'";
            assert_eq!(world.count(moved).await, 1, "{how}");
        }
    }
}

#[tokio::test]
async fn what_a_finalize_knows_of_a_meeting_stands_beside_what_was_there() {
    let data =
        async |world: &World| -> Value { world.value("select external_data from conversations").await };
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.run("update conversations set external_data = '{\"sent_by\": \"a clock\"}'").await;
    let meeting = json!({ "title": "Monday" });
    world.ledger.finalize(&world.ann, &id, Some(meeting.clone())).await.unwrap().unwrap();
    let both = json!({ "sent_by": "a clock", "calendar_meeting_context": meeting });
    assert_eq!(data(&world).await, both);
    world.run("delete from finalization_jobs; update conversations set status = 'failed'").await;
    world.ledger.finalize(&world.ann, &id, None).await.unwrap().unwrap();
    assert_eq!(data(&world).await, both, "one that knows of none takes nothing away");
}

#[tokio::test]
async fn what_is_swept_is_discarded_by_its_failure_unless_a_person_did_before() {
    for by_person in [true, false] {
        let world = World::new().await;
        world.admitted("c").await;
        world
            .run("delete from finalization_jobs; update conversations set updated_at = now() - interval '1 hour'")
            .await;
        if by_person {
            world.run("update conversations set discarded = true, discarded_by_person = true").await;
        }
        assert_eq!(world.ledger.sweep_processing(None, 9).await.unwrap().found.len(), 1);
        assert_eq!(marks(&world).await, ("failed".into(), true, !by_person));
    }
}
