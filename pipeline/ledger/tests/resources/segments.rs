//! Appending segments: order, repeats, limits and races.

use ledger::{NewContent, NewConversation};
use records::{ConversationId, Segment, Source};
use store::AppendRefusal;
use testbed::at_once;

use crate::world::{World, segment};

async fn stored(world: &World, id: &ConversationId) -> Vec<Segment> {
    world.ledger.store().conversation(&world.ann, id, true).await.unwrap().unwrap().segments.unwrap()
}

#[tokio::test]
async fn append_keeps_order_and_ignores_repeated_ids() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "in_progress", 0).await;
    let first = [segment(Some("s1"), "Anna", "One.", 0.0), segment(None, "SPEAKER_00", "Two.", 1.0)];
    assert_eq!(world.ledger.store().append_segments(&world.ann, &id, &first).await.unwrap(), Ok(2));
    let second = [
        segment(Some("s1"), "Anna", "Changed.", 0.0),
        segment(Some("s2"), "Tom", "Three.", 2.0),
        segment(Some("s2"), "Tom", "Again.", 2.0),
        segment(None, "Anna", "Four.", 600.0),
    ];
    assert_eq!(world.ledger.store().append_segments(&world.ann, &id, &second).await.unwrap(), Ok(4));
    let segments = stored(&world, &id).await;
    let words: Vec<_> = segments.iter().map(|segment| segment.text.as_str()).collect();
    assert_eq!(words, ["One.", "Two.", "Three.", "Four."]);
    let speakers: Vec<_> = segments.iter().map(|segment| segment.speaker_id).collect();
    assert_eq!(speakers, [Some(1), Some(0), Some(2), Some(1)]);
    let length = "select extract(epoch from finished_at - started_at)::bigint from conversations \
                  where last_append_at is not null";
    assert_eq!(world.count(length).await, 601, "the conversation lasts as long as its words");
    let early = [segment(None, "Anna", "Five.", 3.0)];
    assert_eq!(world.ledger.store().append_segments(&world.ann, &id, &early).await.unwrap(), Ok(5));
    assert_eq!(world.count(length).await, 601, "and as long as those that came before");
}

#[tokio::test]
async fn create_stores_each_segment_id_once_and_numbers_speakers() {
    let world = World::new().await;
    let words = [
        segment(Some("s1"), "Anna", "One.", 0.0),
        segment(Some("s1"), "Anna", "Again.", 1.0),
        segment(None, "Tom", "Two.", 2.0),
    ];
    let id = ConversationId::new("c");
    let new = NewConversation::new(id.clone(), NewContent::Segments(words.to_vec()), Source::new("phone"));
    world.ledger.create_conversation(&world.ann, new, None).await.unwrap();
    let segments = stored(&world, &id).await;
    let stored: Vec<_> = segments.iter().map(|segment| (segment.text.as_str(), segment.speaker_id)).collect();
    assert_eq!(stored, [("One.", Some(0)), ("Two.", Some(1))]);
}

#[tokio::test]
async fn append_is_refused_unless_in_progress_and_own() {
    let world = World::new().await;
    let open = world.conversation(&world.ann, "open", "in_progress", 0).await;
    let running = world.conversation(&world.ann, "running", "processing", 0).await;
    let words = [segment(None, "SPEAKER_00", "Hello.", 0.0)];
    let append = async |user, id| world.ledger.store().append_segments(user, id, &words).await.unwrap();
    assert_eq!(append(&world.ann, &running).await, Err(AppendRefusal::NotInProgress));
    assert_eq!(append(&world.bob, &open).await, Err(AppendRefusal::NoConversation));
    assert_eq!(append(&world.ann, &ConversationId::new("none")).await, Err(AppendRefusal::NoConversation));
    assert_eq!(world.count("select count(*) from transcript_segments").await, 0);
}

#[tokio::test]
async fn append_is_refused_beyond_the_year_9999() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "in_progress", 0).await;
    world.run("update conversations set started_at = '9999-12-31T23:59:00Z', finished_at = '9999-12-31T23:59:00Z'").await;
    let append = async |start| {
        let words = [segment(None, "SPEAKER_00", "Hello.", start)];
        world.ledger.store().append_segments(&world.ann, &id, &words).await.unwrap()
    };
    assert_eq!(append(600.0).await, Err(AppendRefusal::TooLate));
    assert_eq!(append(0.0).await, Ok(1));
}

#[tokio::test]
async fn append_keeps_to_the_limits_of_segments_and_bytes() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "in_progress", 0).await;
    world
        .run(
            "insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
             select 'ann', 'c', n, 'x', 0, 1 from generate_series(0, 9998) n; \
             update transcript_segments set segment_id = 'four', person_id = 'six...' where position = 0",
        )
        .await;
    let append =
        async |words: &[Segment]| world.ledger.store().append_segments(&world.ann, &id, words).await.unwrap();
    let one = segment(None, "SPEAKER_00", "y", 0.0);
    assert_eq!(append(&[one.clone(), one.clone()]).await, Err(AppendRefusal::TooMuch));
    let left = 4 * 1024 * 1024 - 9_999 - "foursix...SPEAKER_00".len();
    let long = segment(None, "SPEAKER_00", &"y".repeat(left + 1), 0.0);
    assert_eq!(append(&[long]).await, Err(AppendRefusal::TooMuch));
    let fits = segment(None, "SPEAKER_00", &"y".repeat(left), 0.0);
    assert_eq!(append(&[fits]).await, Ok(10_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_appends_store_one_segment_per_id() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "in_progress", 0).await;
    let senders = (0..8).map(|n| {
        let (ledger, user, id) = (world.ledger.clone(), world.ann.clone(), id.clone());
        let own = format!("own{n}");
        let words = [segment(Some("same"), "Anna", "Hello.", 0.0), segment(Some(&own), "Tom", "Mine.", 1.0)];
        async move { ledger.store().append_segments(&user, &id, &words).await.unwrap().unwrap() }
    });
    let mut counts = at_once(senders).await;
    counts.sort_unstable();
    assert_eq!(counts, [2, 3, 4, 5, 6, 7, 8, 9], "one after the other, each adding its own");
    let segments = stored(&world, &id).await;
    assert_eq!(segments.len(), 9);
    assert_eq!(segments.iter().filter(|segment| segment.id.as_deref() == Some("same")).count(), 1);
    assert!(segments.iter().skip(1).all(|segment| segment.speaker_id == Some(1)), "Tom has one number");
}
