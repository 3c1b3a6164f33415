//! Which socket owns a live conversation, and what it may append.

use std::sync::atomic::Ordering::Relaxed;

use ledger::{Ledger, Settings};
use records::{ConversationId, Segment, UserId};
use store::{Appended, LiveLost, SegmentIds};

use crate::world::{World, new, segment};

#[tokio::test]
async fn open_live_resumes_the_devices_conversation_within_its_timeout() {
    let world = World::new().await;
    let first = world.opened_with_segment("c1", Some("ios_1")).await;
    assert!(!first.resumed && first.began_ago.is_none());
    let again = world.open("c2", Some("ios_1")).await;
    assert_eq!((again.id.as_str(), again.epoch, again.resumed), ("c1", 2, true));
    assert!(again.began_ago.is_some_and(|ago| ago >= 2.0), "{again:?}");
    assert_eq!(world.open("c3", Some("ios_2")).await.id.as_str(), "c3");
    assert_eq!(world.open("c4", None).await.id.as_str(), "c4");
    let bob = UserId::new("bob");
    assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
    let bobs = world.ledger.store().open_live(&bob, &new("c5", Some("ios_1"))).await.unwrap().unwrap();
    assert_eq!(bobs.id.as_str(), "c5");
    world.run("update conversations set last_activity_at = now() - interval '121 seconds'").await;
    assert_eq!(world.open("c6", Some("ios_1")).await.id.as_str(), "c6");
}

#[tokio::test]
async fn writes_of_a_superseded_socket_are_refused_but_for_words_heard_before() {
    let world = World::new().await;
    let old = world.opened_with_segment("c1", None).await;
    let other = Ledger::new(world.database.options(), Settings::default());
    let young = other.store().open_live(&world.ann, &new("c2", None)).await.unwrap().unwrap();
    assert_eq!(young.id, old.id);
    let late = [segment("s2", "Too late.", 5.0)];
    let append = async |ids: SegmentIds| {
        world.ledger.store().append_live(&world.ann, &old.id, old.epoch, &late, None, ids).await.unwrap()
    };
    assert_eq!(append(SegmentIds::OfClient).await, Err(LiveLost::Superseded), "its client says it again");
    let refused = world.ledger.store().renew_live(&world.ann, &old.id, old.epoch).await.unwrap();
    assert_eq!(refused, Err(LiveLost::Superseded));
    let refused = world.ledger.store().close_live(&world.ann, &old.id, old.epoch).await.unwrap();
    assert_eq!(refused, Err(LiveLost::Superseded));
    let photo =
        world.ledger.store().add_live_photo(&world.ann, &old.id, old.epoch, ("p", "aGk=")).await.unwrap();
    assert!(photo.is_err());
    world.append(&young, &[segment("s3", "In time.", 5.0)], None).await;
    assert_eq!(world.texts(&old.id).await.len(), 2);
    let stored = Ok(Appended::StoredLate(vec![Some(0)]));
    assert_eq!(append(SegmentIds::OfService).await, stored, "what was heard before, nobody says again");
    assert_eq!(world.texts(&old.id).await.len(), 3);
}

#[tokio::test]
async fn concurrent_open_live_opens_one_conversation() {
    let world = World::new().await;
    let other = Ledger::new(world.database.options(), Settings::default());
    let (one_new, two_new) = (new("c1", Some("d")), new("c2", Some("d")));
    let (one, two) = tokio::join!(
        world.ledger.store().open_live(&world.ann, &one_new),
        other.store().open_live(&world.ann, &two_new)
    );
    let (one, two) = (one.unwrap().unwrap(), two.unwrap().unwrap());
    assert_eq!(one.id, two.id);
    assert_ne!(one.epoch, two.epoch);
    assert_eq!(world.value::<i64>("select count(*) from conversations").await, 1);
}

#[tokio::test]
async fn append_live_stores_new_and_grown_segments_and_renews() {
    let world = World::new().await;
    let live = world.open("c1", None).await;
    world
        .run("update conversations set process_after = now(), last_activity_at = now() - interval '1 hour'")
        .await;
    let first = [segment("s1", "Buy milk", 0.0)];
    assert_eq!(world.append(&live, &first, Some(3.0)).await, [Some(0)]);
    assert!(world.value::<bool>(
        "select process_after between now() + interval '115 seconds' and now() + interval '120 seconds' \
             and last_activity_at > now() - interval '5 seconds' and last_append_at = last_activity_at \
             and started_at between now() - interval '8 seconds' and now() - interval '3 seconds' \
             and finished_at = started_at + interval '1 second' from conversations",
    ).await);
    let mut grown = segment("s1", "Buy milk tomorrow.", 0.0);
    grown.end = 4.0;
    let mut other = segment("s2", "And bread.", 4.0);
    other.speaker = Some("guest".to_owned());
    for _ in 0..2 {
        assert_eq!(world.append(&live, &[grown.clone(), other.clone()], Some(9.0)).await, [Some(0), Some(1)]);
        let texts = world.texts(&live.id).await;
        assert_eq!(texts, [("Buy milk tomorrow.".to_owned(), 4.0), ("And bread.".to_owned(), 5.0)]);
    }
    let ends = "select extract(epoch from finished_at - started_at)::float8 from conversations";
    assert_eq!(world.value::<f64>(ends).await, 5.0, "a repeat of the first append moves nothing");
}

/// A phone repeats after a break what it was not sure of: by the clock of its new socket the segment begins later.
#[tokio::test]
async fn append_live_keeps_the_length_of_a_segment_that_is_repeated_later() {
    let world = World::new().await;
    let live = world.open("c1", None).await;
    world.append(&live, &[segment("s1", "Buy milk", 2.0)], Some(3.0)).await;
    world.append(&live, &[segment("s1", "Buy milk", 30.0)], None).await;
    assert_eq!(world.texts(&live.id).await, [("Buy milk".to_owned(), 3.0)]);
    let ends = "select extract(epoch from finished_at - started_at)::float8 from conversations";
    assert_eq!(world.value::<f64>(ends).await, 3.0);
    // One whose beginning is known better ends where it is said to end.
    let better = Segment { start: 0.0, end: 4.0, ..segment("s1", "Please buy milk", 0.0) };
    world.append(&live, &[better], None).await;
    assert_eq!(world.texts(&live.id).await, [("Please buy milk".to_owned(), 4.0)]);
}

#[tokio::test]
async fn append_live_keeps_to_the_limits_of_segments_and_bytes() {
    let world = World::new().await;
    let live = world.open("c1", None).await;
    world.run(
        "insert into transcript_segments (user_id, conversation_id, position, segment_id, content, start_seconds, \
             end_seconds) select 'ann', 'c1', n, 'n' || n, 'w', 0, 0 from generate_series(0, 9998) n",
    ).await;
    let two = [segment("s1", "One.", 0.0), segment("s2", "Two.", 1.0)];
    let append = async |segments: &[_]| {
        world
            .ledger
            .store()
            .append_live(&world.ann, &live.id, live.epoch, segments, None, SegmentIds::OfService)
            .await
            .unwrap()
            .unwrap()
    };
    assert_eq!(append(&two).await, Appended::Full);
    assert_eq!(append(&two[..1]).await, Appended::Stored(vec![Some(0)]));
    assert_eq!(append(&[segment("n5", "grown", 0.0)]).await, Appended::Stored(vec![None]), "no new segment");
    let long = segment("n6", &"w".repeat(4 * 1_024 * 1_024), 0.0);
    assert_eq!(append(&[long]).await, Appended::Full);
    assert_eq!(world.texts(&live.id).await.len(), 10_000);
}

#[tokio::test]
async fn open_live_uses_a_free_wanted_id_and_resumes_its_conversation() {
    let world = World::new().await;
    let wanting = |fresh: &str, device: &str| store::NewLive {
        wanted_id: Some(ConversationId::new("mine")),
        ..new(fresh, Some(device))
    };
    let open = async |new| world.ledger.store().open_live(&world.ann, &new).await.unwrap().unwrap();
    let mine = open(wanting("c1", "a")).await;
    assert_eq!(mine.id.as_str(), "mine");
    world.append(&mine, &[segment("s1", "Hello.", 0.0)], Some(1.0)).await;
    assert_eq!(open(wanting("c2", "b")).await.id.as_str(), "mine", "from another device");
    world.run("update conversations set status = 'completed'").await;
    assert_eq!(open(wanting("c3", "a")).await.id.as_str(), "c3", "it is taken");
    world.ledger.delete_conversation(&world.ann, &mine.id).await.unwrap();
    assert_eq!(open(wanting("c4", "c")).await.id.as_str(), "c4", "it was deleted");
}

#[tokio::test]
async fn open_live_with_a_used_wanted_id_resumes_the_devices_conversation() {
    let world = World::new().await;
    let wanted = async |id: &str, fresh: &str, device| {
        let new = store::NewLive { wanted_id: Some(ConversationId::new(id)), ..new(fresh, device) };
        world.ledger.store().open_live(&world.ann, &new).await.unwrap().unwrap()
    };
    let without_device = world.opened_with_segment("c1", None).await;
    let devices = world.opened_with_segment("c2", Some("a")).await;
    assert_eq!(wanted("mine-1", "c3", None).await.id.as_str(), "mine-1", "another recording of no device");
    assert_eq!(
        wanted("mine-2", "c4", Some("a")).await.id.as_str(),
        "mine-2",
        "another recording of the device"
    );
    for (live, id) in [(&without_device, "s2"), (&devices, "s3")] {
        world.append(live, &[segment(id, "I go on.", 60.0)], None).await;
    }
    world.run("update conversations set status = 'completed' where conversation_id like 'mine-%'").await;
    let resumed = wanted("mine-2", "c5", Some("a")).await;
    assert_eq!((resumed.id.as_str(), resumed.resumed), ("c2", true), "the device's conversation after it");
    assert_eq!(wanted("mine-1", "c6", None).await.id.as_str(), "c6", "without a device its own is not known");
}

/// A client connected twice within a second; the first socket's open was slower, and closed the second one.
#[tokio::test]
async fn open_live_of_a_client_that_has_left_meanwhile_takes_nothing_over() {
    let world = World::new().await;
    let current = world.opened_with_segment("c1", Some("a")).await;
    let locked = world.database.hold_locks("select from users where user_id = 'ann' for update").await;
    let left = new("c2", Some("a"));
    let leaving = async {
        world.database.until_somebody_waits().await;
        left.is_ending.store(true, Relaxed);
        drop(locked);
    };
    let (opened, ()) = tokio::join!(world.ledger.store().open_live(&world.ann, &left), leaving);
    let opened = opened.unwrap().unwrap();
    assert_eq!((opened.id.as_str(), opened.resumed), ("c2", false));
    let renewed = world.ledger.store().renew_live(&world.ann, &current.id, current.epoch).await.unwrap();
    assert_eq!(renewed, Ok(()), "the socket that is there keeps its conversation");
}

#[tokio::test]
async fn close_live_deletes_empty_conversations_only() {
    let world = World::new().await;
    let empty = world.open("c1", Some("a")).await;
    let with_segment = world.opened_with_segment("c2", Some("b")).await;
    let seen = world.open("c3", Some("c")).await;
    let photo = ("p1", "/9j/");
    for _ in 0..2 {
        world.ledger.store().add_live_photo(&world.ann, &seen.id, seen.epoch, photo).await.unwrap().unwrap();
    }
    for live in [&empty, &with_segment, &seen] {
        world.ledger.store().close_live(&world.ann, &live.id, live.epoch).await.unwrap().unwrap();
    }
    let left = world.ledger.store().list_live(Some("ann"), 10).await.unwrap();
    let left: Vec<_> =
        left.iter().map(|live| (live.conversation_id.as_str(), live.live_process.as_deref())).collect();
    assert_eq!(left, [("c2", None), ("c3", None)]);
    assert_eq!(world.value::<i64>("select count(*) from photos").await, 1);
    let gone = world.ledger.store().close_live(&world.ann, &empty.id, empty.epoch).await.unwrap();
    assert_eq!(gone, Err(LiveLost::Ended));
}

#[tokio::test]
async fn open_live_is_refused_for_a_deleted_user() {
    let world = World::new().await;
    let live = world.opened_with_segment("c1", None).await;
    world.run("update users set deleting_since = now()").await;
    let refused = world.ledger.store().open_live(&world.ann, &new("c2", None)).await.unwrap();
    assert_eq!(refused, None);
    let unknown = world.ledger.store().open_live(&UserId::new("unknown"), &new("c2", None)).await.unwrap();
    assert_eq!(unknown, None);
    world.run("delete from users").await;
    let append = world
        .ledger
        .store()
        .append_live(
            &world.ann,
            &live.id,
            live.epoch,
            &[segment("s2", "x", 1.0)],
            None,
            SegmentIds::OfService,
        )
        .await;
    assert_eq!(append.unwrap(), Err(LiveLost::Ended));
}

#[tokio::test]
async fn segment_repeated_after_the_end_is_not_stored_in_the_next() {
    let world = World::new().await;
    let first = world.open("c1", Some("ios_1")).await;
    let (line, counted) = ("0199c2f7-1d1c-7c1e-9d39-1d7a4a4f0001", "7");
    world.append(&first, &[segment(line, "Buy milk.", 0.0), segment(counted, "Yes.", 1.0)], Some(2.0)).await;
    world.run("update conversations set status = 'processing'").await;
    let next = world.open("c2", Some("ios_1")).await;
    let append = async |segments: &[_]| {
        let store = world.ledger.store();
        store
            .append_live(&world.ann, &next.id, next.epoch, segments, Some(1.0), SegmentIds::OfClient)
            .await
            .unwrap()
            .unwrap()
    };

    assert_eq!(append(&[segment(line, "Buy milk.", 9.0)]).await, Appended::Repeated);
    assert!(world.texts(&next.id).await.is_empty());
    let both = [
        segment(line, "Buy milk.", 9.0),
        segment("0199c2f7-1d1c-7c1e-9d39-1d7a4a4f0002", "And bread.", 10.0),
    ];
    assert_eq!(append(&both).await, Appended::Stored(vec![None, Some(0)]));
    let others = [segment(counted, "Yes.", 11.0), segment(line, "Buy oat milk.", 12.0)];
    assert_eq!(append(&others).await, Appended::Stored(vec![Some(0); 2]), "no repeats: nothing is lost");
    let texts: Vec<_> = world.texts(&next.id).await.into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["And bread.", "Yes.", "Buy oat milk."]);

    let other = world.open("c3", Some("ios_2")).await;
    world.append(&other, &[segment(line, "Buy milk.", 0.0)], Some(1.0)).await;
    assert_eq!(world.texts(&other.id).await.len(), 1, "another device is another client");
}

/// A phone that was disconnected repeats a segment through a second socket while the first one's is being stored.
/// Each socket owns a conversation, because the silence between was long, and both have searched for the segment
/// before either commits.
#[tokio::test]
async fn concurrent_appends_of_one_segment_id_store_it_once() {
    let world = World::new().await;
    let old = world.opened_with_segment("c1", Some("ios_1")).await;
    world.run("update conversations set last_activity_at = now() - interval '1 hour'").await;
    let new = world.open("c2", Some("ios_1")).await;
    assert_eq!(new.id.as_str(), "c2", "the old socket may still write");
    let line = segment("0199c2f7-1d1c-7c1e-9d39-1d7a4a4f0001", "Call Tom.", 9.0);
    // The row that an append writes last is locked, so that none commits.
    let mut held = world.pool.begin().await.unwrap();
    sqlx::query("select from user_usage for update").execute(&mut *held).await.unwrap();
    let mut appends = tokio::task::JoinSet::new();
    for (number, live) in [old, new].into_iter().enumerate() {
        let (ledger, ann, line) = (world.ledger.clone(), world.ann.clone(), line.clone());
        appends.spawn(async move {
            ledger
                .store()
                .append_live(&ann, &live.id, live.epoch, &[line], None, SegmentIds::OfClient)
                .await
                .unwrap()
                .unwrap()
        });
        let waiting = "select count(*) from pg_stat_activity \
             where datname = current_database() and wait_event_type = 'Lock'";
        while world.value::<i64>(waiting).await < number as i64 + 1 {}
    }
    held.rollback().await.unwrap();

    let mut came = appends.join_all().await;
    came.sort_by_key(|appended| *appended == Appended::Repeated);
    assert_eq!(came, [Appended::Stored(vec![Some(0)]), Appended::Repeated]);
    assert_eq!(
        world.value::<i64>("select count(*) from transcript_segments where content = 'Call Tom.'").await,
        1
    );
}
