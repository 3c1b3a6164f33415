//! How a live conversation ends.

use std::time::Duration;

use job::{Origin, Queue, State, WorkerId};
use ledger::{EndedBy, LiveAdmission, Settings, WithKeys};
use operations::{CHECKS, Operations};
use records::Status;
use store::{Appended, LIVE_GRACE, LimitsChange, LiveLost, PhotoRefusal, SegmentIds, UserChange};

use crate::world::{World, said};

const OWNER: EndedBy<'static> = EndedBy::Owner { calendar_meeting_context: None };
const GRACE: EndedBy<'static> = EndedBy::Reconciler { grace: LIVE_GRACE };

fn fresh(admission: LiveAdmission) -> ledger::Admitted {
    match admission {
        LiveAdmission::Admitted(admitted) => *admitted,
        other => panic!("not admitted: {other:?}"),
    }
}

/// A claim of nine free slots.
fn wanted(queue: Queue) -> ledger::ClaimRequest {
    let worker = WorkerId("w".to_owned());
    ledger::ClaimRequest {
        queue,
        worker,
        slots: 9,
        share: u32::MAX,
        most: u32::MAX,
        running: Default::default(),
    }
}

#[tokio::test]
async fn silence_admits_a_conversation_once_and_nothing_is_appended_afterwards() {
    let world = World::new().await;
    let live = world.spoken("c1", None).await;
    let by = EndedBy::Socket { epoch: live.epoch };
    let admitted = fresh(world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap());
    assert_eq!(admitted.conversation.status, Status::Processing);
    let view = world.ledger.job(&admitted.job_id).await.unwrap().unwrap();
    assert_eq!(
        (view.job.origin, view.job.queue, view.job.force_process),
        (Origin::Live, Queue::Finalization, false)
    );
    assert_eq!(view.revision, 1);
    let again = world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap();
    assert_eq!(again, LiveAdmission::Ended);
    let late = world
        .ledger
        .store()
        .append_live(&world.ann, &live.id, live.epoch, &[said("s2", "x", 3.0)], None, SegmentIds::OfService)
        .await;
    assert_eq!(late.unwrap(), Err(LiveLost::Ended));
    let next = world.open("c2", None).await;
    assert_eq!(next.id.as_str(), "c2", "the socket goes on with another one");
    assert_eq!(world.ledger.claim(&wanted(Queue::Finalization)).await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn a_word_that_comes_with_the_end_is_in_the_revision_or_is_refused() {
    let world = World::new().await;
    let live = world.spoken("c1", None).await;
    // The end holds the row first.
    let end = "update conversations set status = 'processing' where conversation_id = 'c1'";
    let more = [said("s2", "One more thing.", 3.0)];
    let append = world.ledger.store().append_live(
        &world.ann,
        &live.id,
        live.epoch,
        &more,
        None,
        SegmentIds::OfService,
    );
    assert_eq!(world.database.overtaken_by(end, append).await.unwrap(), Err(LiveLost::Ended));
    world.run("update conversations set status = 'in_progress'").await;
    // The append holds it first.
    let append = "select from conversations where conversation_id = 'c1' for update; \
         insert into transcript_segments (user_id, conversation_id, position, segment_id, content, start_seconds, \
             end_seconds) values ('ann', 'c1', 1, 's2', 'One more thing.', 3, 4)";
    let end = world.ledger.admit_live(&world.ann, &live.id, OWNER, None);
    fresh(world.database.overtaken_by(append, end).await.unwrap());
    assert_eq!(world.texts(&live.id).await.len(), 2);
}

#[tokio::test]
async fn of_two_who_end_a_conversation_at_once_one_admits_it() {
    let world = World::new().await;
    let live = world.spoken("c1", None).await;
    let by = EndedBy::Socket { epoch: live.epoch };
    let (one, two) = tokio::join!(
        world.ledger.admit_live(&world.ann, &live.id, by, None),
        world.ledger.admit_live(&world.ann, &live.id, OWNER, None),
    );
    let ended =
        [one.unwrap(), two.unwrap()].into_iter().filter(|ended| *ended == LiveAdmission::Ended).count();
    assert_eq!(ended, 1);
    assert_eq!(world.value::<i64>("select count(*) from finalization_jobs").await, 1);
}

#[tokio::test]
async fn an_older_socket_and_an_empty_stub_end_nothing() {
    let world = World::new().await;
    let empty = world.open("c1", None).await;
    let by = EndedBy::Socket { epoch: 1 };
    assert_eq!(world.ledger.admit_live(&world.ann, &empty.id, by, None).await.unwrap(), LiveAdmission::Empty);
    let live = world.spoken("c2", None).await;
    assert_eq!((live.id.as_str(), live.epoch), ("c1", 2));
    assert_eq!(
        world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap(),
        LiveAdmission::Superseded
    );
}

#[tokio::test]
async fn inline_mode_has_no_queue_of_finalizations() {
    let world = World::with(Settings { live_queue: Queue::Creation, ..Settings::default() }).await;
    let live = world.spoken("c1", None).await;
    let admitted = fresh(world.ledger.admit_live(&world.ann, &live.id, OWNER, None).await.unwrap());
    assert_eq!(world.ledger.job(&admitted.job_id).await.unwrap().unwrap().job.queue, Queue::Creation);
    assert_eq!(world.ledger.claim(&wanted(Queue::Creation)).await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn a_session_with_keys_leases_its_job_at_once_and_one_without_parks_it() {
    let world = World::new().await;
    world.run("update users set requires_byok = true").await;
    let live = world.spoken("c1", None).await;
    let parked = fresh(world.ledger.admit_live(&world.ann, &live.id, OWNER, None).await.unwrap());
    let state = async |id| world.ledger.job(id).await.unwrap().unwrap().job.state;
    assert_eq!(state(&parked.job_id).await, State::BlockedByok);
    assert_eq!(world.ledger.store().parked_jobs(&world.ann, 5).await.unwrap(), vec![parked.job_id.clone()]);
    let live = world.spoken("c2", None).await;
    let worker = WorkerId("p1/keyed".to_owned());
    let keys = WithKeys { claimant: Some(&worker) };
    let by = EndedBy::Socket { epoch: live.epoch };
    let leased = fresh(world.ledger.admit_live(&world.ann, &live.id, by, Some(keys)).await.unwrap());
    assert!(matches!(state(&leased.job_id).await, State::Leased(lease) if lease.worker == worker));
    assert_eq!(leased.claimed.unwrap().job.id, leased.job_id);
    assert_eq!(world.ledger.store().parked_jobs(&world.ann, 5).await.unwrap(), [parked.job_id]);
}

#[tokio::test]
async fn what_a_dead_process_left_is_due_after_the_grace_and_a_renewal_takes_it_back() {
    let world = World::new().await;
    let spoken = world.spoken("c1", Some("a")).await;
    let empty = world.open("c2", Some("b")).await;
    let living = world.spoken("c3", Some("c")).await;
    let due = async || {
        let walked = world.ledger.store().due_live(LIVE_GRACE, None, 10).await.unwrap();
        assert_eq!(walked.next, None);
        walked.found.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    world.run("update conversations set process_after = now() - interval '10 seconds'").await;
    assert_eq!(due().await, [], "their sockets may be about to end them");
    world.run("update conversations set process_after = now() - interval '20 seconds' - live_epoch * interval '1s'").await;
    assert_eq!(due().await.len(), 3);
    world.ledger.store().renew_live(&world.ann, &living.id, living.epoch).await.unwrap().unwrap();
    assert_eq!(due().await.len(), 2);
    let end = async |id| world.ledger.admit_live(&world.ann, id, GRACE, None).await.unwrap();
    assert_eq!(end(&living.id).await, LiveAdmission::NotDue);
    fresh(end(&spoken.id).await);
    assert_eq!(end(&empty.id).await, LiveAdmission::Empty);
    assert_eq!(due().await, []);
    let left =
        "select string_agg(conversation_id || status, ',' order by conversation_id) from conversations";
    assert_eq!(world.value::<String>(left).await, "c1processing,c3in_progress", "the empty stub was deleted");
}

#[tokio::test]
async fn due_pages_are_walked_by_their_key() {
    let world = World::new().await;
    for id in ["c1", "c2", "c3"] {
        world.spoken(id, Some(id)).await;
    }
    world.run("update conversations set process_after = now() - interval '1 minute'").await;
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let walked = world.ledger.store().due_live(Duration::ZERO, after.as_ref(), 2).await.unwrap();
        seen.extend(walked.found.into_iter().map(|(_, id)| id.as_str().to_owned()));
        after = walked.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["c1", "c2", "c3"]);
}

#[tokio::test]
async fn the_conversation_in_progress_is_the_one_that_was_active_last_and_never_an_empty_stub() {
    let world = World::new().await;
    assert_eq!(world.ledger.store().in_progress(&world.ann).await.unwrap(), None);
    let older = world.spoken("c1", Some("a")).await;
    world.spoken("c2", Some("b")).await;
    world.open("c3", Some("c")).await;
    let found = async || world.ledger.store().in_progress(&world.ann).await.unwrap().unwrap();
    assert_eq!(found().await.id.as_str(), "c2");
    world.say(&older, &[said("s9", "Still here.", 9.0)], None).await;
    let found = found().await;
    assert_eq!((found.id.as_str(), found.is_live), ("c1", true));
}

#[tokio::test]
async fn a_full_conversation_is_ended_and_its_last_words_go_into_the_next() {
    let world = World::new().await;
    let live = world.spoken("c1", None).await;
    let long = said("s2", &"w".repeat(4 * 1_024 * 1_024), 3.0);
    let full = world
        .ledger
        .store()
        .append_live(&world.ann, &live.id, live.epoch, &[long], None, SegmentIds::OfService)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(full, Appended::Full);
    let by = EndedBy::Socket { epoch: live.epoch };
    fresh(world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap());
    assert_eq!(world.texts(&live.id).await.len(), 1);
}

#[tokio::test]
async fn what_a_live_conversation_stores_is_charged_to_its_user_and_bounded() {
    let world = World::new().await;
    let limits = LimitsChange { bytes: Some(Some(60)), ..LimitsChange::default() };
    let change = UserChange { limits, ..UserChange::default() };
    world.ledger.change_user(&world.ann, &change).await.unwrap().unwrap();
    let live = world.spoken("c1", None).await;
    world.say(&live, &[said("s1", "Buy milk tomorrow.", 0.0)], None).await;
    let account = async || {
        let budget = world.ledger.store().user_budget(&world.ann).await.unwrap().unwrap();
        (budget.conversations_today, budget.bytes)
    };
    assert_eq!(account().await, (1, 30), "a repeat costs nothing");
    let append = async |text: &str| {
        let said = [said("s2", text, 3.0)];
        world
            .ledger
            .store()
            .append_live(&world.ann, &live.id, live.epoch, &said, None, SegmentIds::OfService)
            .await
            .unwrap()
            .unwrap()
    };
    assert_eq!(append(&"w".repeat(23)).await, Appended::OverBudget);
    let photo =
        world.ledger.store().add_live_photo(&world.ann, &live.id, live.epoch, ("p", &"A".repeat(40))).await;
    assert_eq!(photo.unwrap(), Err(PhotoRefusal::TooMany));
    assert_eq!((account().await, world.texts(&live.id).await.len()), ((1, 30), 1));
    assert!(matches!(append("short").await, Appended::Stored(_)));
    let by = EndedBy::Socket { epoch: live.epoch };
    fresh(world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap());
    let check = CHECKS.iter().find(|check| check.name == "usage_recounts").unwrap();
    assert_eq!(
        Operations::new(&world.ledger).verify(check, 10).await.unwrap().offenders,
        Vec::<String>::new()
    );
}
