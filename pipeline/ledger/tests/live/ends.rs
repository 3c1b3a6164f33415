//! How a live conversation ends, and what it is charged.

use std::time::Duration;

use job::{Origin, Queue, State, WorkerId};
use ledger::{EndedBy, LiveAdmission, Settings, WithKeys};
use operations::{CHECKS, Operations};
use records::Status;
use store::{
    Appended, LIVE_GRACE, LimitsChange, LiveConversation, LiveLost, LiveUsage, PhotoRefusal, SegmentIds,
    UserChange,
};

use crate::world::{World, segment};

const OWNER: EndedBy<'static> = EndedBy::Owner { calendar_meeting_context: None };
const GRACE: EndedBy<'static> = EndedBy::Reconciler { grace: LIVE_GRACE };

fn fresh(admission: LiveAdmission) -> ledger::Admitted {
    match admission {
        LiveAdmission::Admitted(admitted) => *admitted,
        other => panic!("not admitted: {other:?}"),
    }
}

/// A claim for nine free slots.
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
async fn admit_live_admits_once_and_refuses_later_appends() {
    let world = World::new().await;
    let live = world.opened_with_segment("c1", None).await;
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
        .append_live(
            &world.ann,
            &live.id,
            live.epoch,
            &[segment("s2", "x", 3.0)],
            None,
            SegmentIds::OfService,
        )
        .await;
    assert_eq!(late.unwrap(), Err(LiveLost::Ended));
    let next = world.open("c2", None).await;
    assert_eq!(next.id.as_str(), "c2", "the socket continues with a new conversation");
    assert_eq!(world.ledger.claim(&wanted(Queue::Finalization)).await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn segment_appended_during_admission_is_included_or_refused() {
    let world = World::new().await;
    let live = world.opened_with_segment("c1", None).await;
    // The admission locks the row first.
    let end = "update conversations set status = 'processing' where conversation_id = 'c1'";
    let more = [segment("s2", "One more thing.", 3.0)];
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
    // The append locks it first.
    let append = "select from conversations where conversation_id = 'c1' for update; \
         insert into transcript_segments (user_id, conversation_id, position, segment_id, content, start_seconds, \
             end_seconds) values ('ann', 'c1', 1, 's2', 'One more thing.', 3, 4)";
    let end = world.ledger.admit_live(&world.ann, &live.id, OWNER, None);
    fresh(world.database.overtaken_by(append, end).await.unwrap());
    assert_eq!(world.texts(&live.id).await.len(), 2);
}

#[tokio::test]
async fn concurrent_admissions_of_a_live_conversation_admit_once() {
    let world = World::new().await;
    let live = world.opened_with_segment("c1", None).await;
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
async fn older_socket_and_empty_conversation_admit_nothing() {
    let world = World::new().await;
    let empty = world.open("c1", None).await;
    let by = EndedBy::Socket { epoch: 1 };
    assert_eq!(world.ledger.admit_live(&world.ann, &empty.id, by, None).await.unwrap(), LiveAdmission::Empty);
    let live = world.opened_with_segment("c2", None).await;
    assert_eq!((live.id.as_str(), live.epoch), ("c1", 2));
    assert_eq!(
        world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap(),
        LiveAdmission::Superseded
    );
}

#[tokio::test]
async fn inline_mode_admits_into_the_creation_queue() {
    let world = World::with(Settings { live_queue: Queue::Creation, ..Settings::default() }).await;
    let live = world.opened_with_segment("c1", None).await;
    let admitted = fresh(world.ledger.admit_live(&world.ann, &live.id, OWNER, None).await.unwrap());
    assert_eq!(world.ledger.job(&admitted.job_id).await.unwrap().unwrap().job.queue, Queue::Creation);
    assert_eq!(world.ledger.claim(&wanted(Queue::Creation)).await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn admit_live_with_keys_leases_the_job_and_without_parks_it() {
    let world = World::new().await;
    world.run("update users set requires_byok = true").await;
    let live = world.opened_with_segment("c1", None).await;
    let parked = fresh(world.ledger.admit_live(&world.ann, &live.id, OWNER, None).await.unwrap());
    let state = async |id| world.ledger.job(id).await.unwrap().unwrap().stored.job.state;
    assert_eq!(state(&parked.job_id).await, State::BlockedByok);
    assert_eq!(world.ledger.store().parked_jobs(&world.ann, 5).await.unwrap(), vec![parked.job_id.clone()]);
    let live = world.opened_with_segment("c2", None).await;
    let worker = WorkerId("p1/keyed".to_owned());
    let keys = WithKeys { claimant: Some(&worker) };
    let by = EndedBy::Socket { epoch: live.epoch };
    let leased = fresh(world.ledger.admit_live(&world.ann, &live.id, by, Some(keys)).await.unwrap());
    assert!(matches!(state(&leased.job_id).await, State::Leased(lease) if lease.worker == worker));
    assert_eq!(leased.claimed.unwrap().job.id, leased.job_id);
    assert_eq!(world.ledger.store().parked_jobs(&world.ann, 5).await.unwrap(), [parked.job_id]);
}

#[tokio::test]
async fn conversation_of_a_dead_process_is_due_after_the_grace_period() {
    let world = World::new().await;
    let with_segment = world.opened_with_segment("c1", Some("a")).await;
    let empty = world.open("c2", Some("b")).await;
    let living = world.opened_with_segment("c3", Some("c")).await;
    let due = async || {
        let page = world.ledger.store().due_live(LIVE_GRACE, None, 10).await.unwrap();
        assert_eq!(page.next, None);
        page.found.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    world.run("update conversations set process_after = now() - interval '10 seconds'").await;
    assert_eq!(due().await, [], "their sockets may still end them");
    world.run("update conversations set process_after = now() - interval '20 seconds' - live_epoch * interval '1s'").await;
    assert_eq!(due().await.len(), 3);
    world.ledger.store().renew_live(&world.ann, &living.id, living.epoch).await.unwrap().unwrap();
    assert_eq!(due().await.len(), 2);
    let end = async |id| world.ledger.admit_live(&world.ann, id, GRACE, None).await.unwrap();
    assert_eq!(end(&living.id).await, LiveAdmission::NotDue);
    fresh(end(&with_segment.id).await);
    assert_eq!(end(&empty.id).await, LiveAdmission::Empty);
    assert_eq!(due().await, []);
    let left =
        "select string_agg(conversation_id || status, ',' order by conversation_id) from conversations";
    assert_eq!(
        world.value::<String>(left).await,
        "c1processing,c3in_progress",
        "the empty conversation was deleted"
    );
}

#[tokio::test]
async fn due_live_pages_are_keyset_pages() {
    let world = World::new().await;
    for id in ["c1", "c2", "c3"] {
        world.opened_with_segment(id, Some(id)).await;
    }
    world.run("update conversations set process_after = now() - interval '1 minute'").await;
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = world.ledger.store().due_live(Duration::ZERO, after.as_ref(), 2).await.unwrap();
        seen.extend(page.found.into_iter().map(|(_, id)| id.as_str().to_owned()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["c1", "c2", "c3"]);
}

#[tokio::test]
async fn in_progress_returns_the_last_active_non_empty_conversation() {
    let world = World::new().await;
    assert_eq!(world.ledger.store().in_progress(&world.ann).await.unwrap(), None);
    let older = world.opened_with_segment("c1", Some("a")).await;
    world.opened_with_segment("c2", Some("b")).await;
    world.open("c3", Some("c")).await;
    let found = async || world.ledger.store().in_progress(&world.ann).await.unwrap().unwrap();
    assert_eq!(found().await.id.as_str(), "c2");
    world.append(&older, &[segment("s9", "Still here.", 9.0)], None).await;
    let found = found().await;
    assert_eq!((found.id.as_str(), found.is_live), ("c1", true));
}

#[tokio::test]
async fn full_conversation_refuses_segments_and_is_admitted() {
    let world = World::new().await;
    let live = world.opened_with_segment("c1", None).await;
    let long = segment("s2", &"w".repeat(4 * 1_024 * 1_024), 3.0);
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
async fn live_segments_count_against_the_byte_budget() {
    let world = World::new().await;
    let limits = LimitsChange { bytes: Some(Some(60)), ..LimitsChange::default() };
    let change = UserChange { limits, ..UserChange::default() };
    world.ledger.change_user(&world.ann, &change).await.unwrap().unwrap();
    let live = world.opened_with_segment("c1", None).await;
    world.append(&live, &[segment("s1", "Buy milk tomorrow.", 0.0)], None).await;
    let counted = async || {
        let budget = world.ledger.store().user_budget(&world.ann).await.unwrap().unwrap();
        (budget.conversations_today, budget.bytes)
    };
    assert_eq!(counted().await, (1, 30), "a repeat is not counted");
    let append = async |text: &str| {
        let segments = [segment("s2", text, 3.0)];
        world
            .ledger
            .store()
            .append_live(&world.ann, &live.id, live.epoch, &segments, None, SegmentIds::OfService)
            .await
            .unwrap()
            .unwrap()
    };
    assert_eq!(append(&"w".repeat(23)).await, Appended::OverBudget);
    let photo =
        world.ledger.store().add_live_photo(&world.ann, &live.id, live.epoch, ("p", &"A".repeat(40))).await;
    assert_eq!(photo.unwrap(), Err(PhotoRefusal::TooMany));
    assert_eq!((counted().await, world.texts(&live.id).await.len()), ((1, 30), 1));
    assert!(matches!(append("short").await, Appended::Stored(_)));
    let by = EndedBy::Socket { epoch: live.epoch };
    fresh(world.ledger.admit_live(&world.ann, &live.id, by, None).await.unwrap());
    let check = CHECKS.iter().find(|check| check.name == "usage_recounts").unwrap();
    assert_eq!(
        Operations::new(&world.ledger).verify(check, 10).await.unwrap().offenders,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn picture_that_is_stored_is_no_picture_too_many() {
    let world = World::new().await;
    let live = world.open("c1", None).await;
    let hundred = "insert into photos (user_id, conversation_id, photo_id, base64, created_at) \
        select user_id, conversation_id, 'p' || n, 'AAAA', now() from conversations, generate_series(1, 100) n";
    world.run(hundred).await;
    for (id, added) in [("p7", Ok(())), ("p101", Err(PhotoRefusal::TooMany))] {
        let photo = (id, "AAAA");
        let done =
            world.ledger.store().add_live_photo(&world.ann, &live.id, live.epoch, photo).await.unwrap();
        assert_eq!(done, added, "{id}");
    }
}

/// A conversation of pictures alone counted as none, however many a user made, each with its job and its model's calls.
#[tokio::test]
async fn pictures_begin_a_conversation_of_the_day_as_words_do() {
    let world = World::new().await;
    let limits = LimitsChange { conversations_per_day: Some(Some(1)), ..LimitsChange::default() };
    let change = UserChange { limits, ..UserChange::default() };
    world.ledger.change_user(&world.ann, &change).await.unwrap().unwrap();
    let photo = async |live: &LiveConversation, id: &str| {
        let added = world.ledger.store().add_live_photo(&world.ann, &live.id, live.epoch, (id, "aGk=")).await;
        added.unwrap()
    };
    let first = world.open("c1", Some("a")).await;
    assert_eq!((photo(&first, "p1").await, photo(&first, "p2").await), (Ok(()), Ok(())));
    world.append(&first, &[segment("s1", "Look at this.", 0.0)], Some(1.0)).await;
    let budget = world.ledger.store().user_budget(&world.ann).await.unwrap().unwrap();
    assert_eq!(budget.conversations_today, 1, "once, for its pictures and its words");
    let second = world.open("c2", Some("b")).await;
    assert_eq!(photo(&second, "p1").await, Err(PhotoRefusal::TooMany));
}

fn usage(seconds: f64, cost: Option<f64>) -> LiveUsage {
    LiveUsage {
        engine: "deepgram".to_owned(),
        received_seconds: seconds,
        recognized_seconds: seconds / 2.0,
        utterances: 3,
        cost,
        ..LiveUsage::default()
    }
}

#[tokio::test]
async fn live_usage_adds_up_per_socket_and_ignores_older_counts() {
    let world = World::new().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let first = world.opened_with_segment("c", None).await;
    for seconds in [30.0, 60.0, 60.0, 30.0] {
        ledger
            .store()
            .note_live_usage(ann, &first.id, first.epoch, &usage(seconds, Some(0.1)))
            .await
            .unwrap();
    }
    let second = world.open("other", None).await;
    assert_eq!(second.id, first.id, "resumed");
    ledger.store().note_live_usage(ann, &second.id, second.epoch, &usage(10.0, None)).await.unwrap();
    let by = EndedBy::Socket { epoch: second.epoch };
    let LiveAdmission::Admitted(admitted) = ledger.admit_live(ann, &second.id, by, None).await.unwrap()
    else {
        panic!("not admitted")
    };
    let page = Operations::new(ledger).job_page(&admitted.job_id).await.unwrap().unwrap();
    let all = LiveUsage { recognized_seconds: 35.0, utterances: 6, ..usage(70.0, Some(0.1)) };
    assert_eq!(page.speech, [all]);
    assert!(ledger.delete_conversation(ann, &second.id).await.unwrap());
    ledger.store().note_live_usage(ann, &second.id, second.epoch, &usage(10.0, None)).await.unwrap();
    assert_eq!(
        world.value::<i64>("select count(*) from live_usage").await,
        0,
        "it is deleted with the conversation"
    );
}
