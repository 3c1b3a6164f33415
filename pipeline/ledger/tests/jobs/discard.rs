//! A dead letter discards its conversation; what admits the conversation again undoes that, but not a discard by the
//! user.

use job::{FailureCode, JobId};
use records::ConversationId;
use serde_json::{Value, json};

use crate::world::{REPLAY, World, new_conversation};

/// A failed conversation `c`, which the user may have discarded before.
async fn failed(by_person: bool) -> (World, JobId) {
    let world = World::new().await;
    let run = world.claimed("c").await;
    if by_person {
        world.run("update conversations set discarded = true, discarded_by_person = true").await;
    }
    world.fail(&run, FailureCode::InvalidJob).await;
    assert_eq!(discard_flags(&world).await, ("failed".into(), true, !by_person));
    world.run("update conversations set updated_at = now() - interval '9 days'").await;
    (world, run.job.id)
}

/// Status, discarded, and discarded by failure.
async fn discard_flags(world: &World) -> (String, bool, bool) {
    world.row("select status, discarded, discarded_by_failure from conversations").await
}

async fn admit_again(how: &str, world: &World, job: &JobId) {
    let (ann, id) = (&world.ann, ConversationId::new("c"));
    match how {
        "a repeated create" => {
            drop(world.ledger.create_conversation(ann, new_conversation("c"), None).await.unwrap())
        }
        "a finalize" => drop(world.ledger.finalize(ann, &id, None, None).await.unwrap().unwrap()),
        "a reprocess" => drop(world.ledger.reprocess(ann, &id, None).await.unwrap().unwrap()),
        _ => {
            drop(world.operate(job, REPLAY).await.unwrap());
        }
    }
}

#[tokio::test]
async fn admitting_again_undoes_a_discard_by_failure_but_not_by_the_user() {
    for how in ["a repeated create", "a finalize", "a reprocess", "a replay"] {
        for by_person in [true, false] {
            let (world, job) = failed(by_person).await;
            admit_again(how, &world, &job).await;
            assert_eq!(
                discard_flags(&world).await,
                ("processing".into(), by_person, false),
                "{how}, {by_person}"
            );
            let moved = "select count(*) from conversations where updated_at > now() - interval '1 day'";
            assert_eq!(world.count(moved).await, 1, "{how}");
        }
    }
}

#[tokio::test]
async fn finalize_adds_meeting_context_to_external_data() {
    let data =
        async |world: &World| -> Value { world.value("select external_data from conversations").await };
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.run("update conversations set external_data = '{\"sent_by\": \"a clock\"}'").await;
    let meeting = json!({ "title": "Monday" });
    world.ledger.finalize(&world.ann, &id, Some(meeting.clone()), None).await.unwrap().unwrap();
    let both = json!({ "sent_by": "a clock", "calendar_meeting_context": meeting });
    assert_eq!(data(&world).await, both);
    world.run("delete from finalization_jobs; update conversations set status = 'failed'").await;
    world.ledger.finalize(&world.ann, &id, None, None).await.unwrap().unwrap();
    assert_eq!(data(&world).await, both, "a finalize without one removes nothing");
}

#[tokio::test]
async fn sweep_discards_by_failure_unless_the_user_discarded() {
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
        assert_eq!(discard_flags(&world).await, ("failed".into(), true, !by_person));
    }
}
