//! Conversations: the list, the view, and the user's changes.

use chrono::{Datelike, TimeDelta};
use db::Error;
use ledger::{NewContent, NewConversation};
use records::{Category, ConversationId, FolderId, Geolocation, Source, Status, Visibility};
use store::{ConversationChange, ConversationFilter, DatePage, MemoryFilter};

use crate::world::{World, nine, segment};

fn all() -> ConversationFilter {
    ConversationFilter {
        page: DatePage { limit: 100, ..DatePage::default() },
        ..ConversationFilter::default()
    }
}

async fn ids(world: &World, filter: &ConversationFilter) -> Vec<String> {
    let views = world.ledger.store().conversations(&world.ann, filter).await.unwrap();
    views.into_iter().map(|view| view.conversation.id.as_str().to_owned()).collect()
}

#[tokio::test]
async fn missing_times_are_derived_from_the_length_of_the_content() {
    let world = World::new().await;
    let text =
        NewContent::Text { text: "Call Bob".into(), text_source: "message".into(), text_source_spec: None };
    // The segment that ends last is not the last one.
    let segments =
        [segment(None, "SPEAKER_00", "Well.", 90.0), segment(None, "SPEAKER_00", "As I said:", 2.0)].to_vec();
    let longest = TimeDelta::microseconds((segments[0].end * 1e6) as i64);
    for (content, length) in [(text, TimeDelta::minutes(5)), (NewContent::Segments(segments), longest)] {
        let times = async |started_at, finished_at| {
            let id = ConversationId::new(format!("{length} {started_at:?} {finished_at:?}"));
            let new = NewConversation::new(id.clone(), content.clone(), Source::new("phone"));
            let new = NewConversation { started_at, finished_at, ..new };
            world.ledger.create_conversation(&world.ann, new, None).await.unwrap();
            let seen = world
                .ledger
                .store()
                .conversation(&world.ann, &id, false)
                .await
                .unwrap()
                .unwrap()
                .conversation;
            (seen.started_at, seen.finished_at)
        };
        let (one, two) = (nine(1), nine(2));
        assert_eq!(times(Some(one), Some(two)).await, (one, two));
        assert_eq!(times(Some(one), None).await, (one, one + length));
        assert_eq!(times(None, Some(two)).await, (two - length, two));
        let before = world.ledger.db().now().await.unwrap();
        let (started, finished) = times(None, None).await;
        assert!((before..=world.ledger.db().now().await.unwrap()).contains(&started), "{started}");
        assert_eq!(finished - started, length);
    }
}

async fn with_four() -> World {
    let world = World::new().await;
    for (id, status, minute) in [
        ("a", "completed", 1),
        ("b", "completed", 1),
        ("c", "completed", 2),
        ("hidden", "completed", 3),
        ("running", "processing", 4),
        ("failed", "failed", 5),
    ] {
        world.conversation(&world.ann, id, status, minute).await;
    }
    world.conversation(&world.bob, "his", "completed", 9).await;
    world.run("update conversations set discarded = true where conversation_id = 'hidden'").await;
    world
}

#[tokio::test]
async fn list_has_completed_undiscarded_conversations_newest_first() {
    let world = with_four().await;
    assert_eq!(ids(&world, &all()).await, ["c", "a", "b"]);
    let page = DatePage { limit: 1, offset: 1, ..DatePage::default() };
    assert_eq!(ids(&world, &ConversationFilter { page, ..all() }).await, ["a"]);
    let page = DatePage { start: Some(nine(2)), end: Some(nine(2)), ..all().page };
    assert_eq!(ids(&world, &ConversationFilter { page, ..all() }).await, ["c"], "both ends are inclusive");
}

#[tokio::test]
async fn list_is_filtered_by_category_folder_and_star() {
    let world = with_four().await;
    world
        .run(
            "update conversations set category = 'health' where conversation_id = 'a'; \
             update conversations set starred = true where conversation_id = 'b'; \
             update conversations set folder_id = 'f' where conversation_id = 'c'",
        )
        .await;
    let health = ConversationFilter { categories: vec![Category::Health, Category::Work], ..all() };
    assert_eq!(ids(&world, &health).await, ["a"]);
    assert_eq!(ids(&world, &ConversationFilter { starred: Some(true), ..all() }).await, ["b"]);
    assert_eq!(ids(&world, &ConversationFilter { starred: Some(false), ..all() }).await, ["c", "a"]);
    let filed = ConversationFilter { folder_id: Some(FolderId::new("f")), ..all() };
    assert_eq!(ids(&world, &filed).await, ["c"]);
}

#[tokio::test]
async fn filter_statement_selects_what_the_list_shows() {
    let world = with_four().await;
    let text = all().statement(&world.ann);
    let text = (1..=9).fold(text, |text, number| text.replace(&format!("${number}"), "'ann'"));
    let statement = sqlx::AssertSqlSafe(format!("select conversation_id from ({text}) listed"));
    let listed: Vec<String> = sqlx::query_scalar(statement).fetch_all(&world.pool).await.unwrap();
    assert_eq!(listed, ids(&world, &all()).await);
}

#[tokio::test]
async fn geolocation_is_stored_as_sent() {
    let world = World::new().await;
    let text =
        NewContent::Text { text: "Call Bob".into(), text_source: "message".into(), text_source_spec: None };
    let place = Geolocation {
        latitude: 52.5,
        longitude: -13.4,
        address: Some("Berlin".into()),
        google_place_id: None,
        location_type: Some("premise".into()),
    };
    let id = ConversationId::new("c");
    let mut new = NewConversation::new(id.clone(), text, Source::new("phone"));
    new.geolocation = Some(place.clone());
    world.ledger.create_conversation(&world.ann, new, None).await.unwrap();
    let view = world.ledger.store().conversation(&world.ann, &id, false).await.unwrap().unwrap();
    assert_eq!(view.conversation.geolocation, Some(place));
}

#[tokio::test]
async fn view_includes_folder_people_segments_items_and_apps_results() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "in_progress", 0).await;
    let mut tom = segment(None, "SPEAKER_01", "Hello.", 0.0);
    tom.person_id = Some("p1".into());
    world.ledger.store().append_segments(&world.ann, &id, &[tom.clone(), tom]).await.unwrap().unwrap();
    let folder = world.ledger.store().folders(&world.ann).await.unwrap()[0].id.clone();
    world
        .run(
            "insert into people (user_id, person_id, name) values ('ann', 'p1', 'Tom'), ('bob', 'p1', 'Tim'); \
             insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id) \
             values ('ann', 'i2', 'Second', now(), now(), 'c'), \
                 ('ann', 'i1', 'First', now() - interval '1 day', now(), 'c'); \
             update conversations set events = '[{\"title\": \"Dinner\", \"start\": \"2026-03-05T19:00:00Z\"}]', \
                 apps_results = '[{\"app_id\": \"minutes\", \"content\": \"We met.\"}, {\"content\": \"x\"}]', \
                 geolocation = '{\"latitude\": 52.5, \"longitude\": 13.4, \"address\": \"Berlin\"}'",
        )
        .await;
    let change = ConversationChange { folder_id: Some(Some(folder)), ..ConversationChange::default() };
    assert!(world.ledger.store().change_conversation(&world.ann, &id, &change).await.unwrap());

    let view = world.ledger.store().conversation(&world.ann, &id, true).await.unwrap().unwrap();
    assert_eq!(view.conversation.status, Status::InProgress);
    assert_eq!(view.folder_name.as_deref(), Some("Work"));
    assert_eq!(view.user_name.as_deref(), Some("ANN"));
    assert_eq!(view.people, [("p1".to_owned(), "Tom".to_owned())]);
    assert_eq!(view.segments.as_ref().map(Vec::len), Some(2));
    let items: Vec<_> = view.action_items.iter().map(|item| item.description.as_str()).collect();
    assert_eq!(items, ["First", "Second"], "oldest first");
    assert_eq!(view.apps_results[0], (Some("minutes".to_owned()), "We met.".to_owned()));
    assert_eq!(view.apps_results[1].0, None);
    let event = &view.conversation.structured.events[0];
    assert_eq!((event.duration, event.created, event.description.as_str()), (30, false, ""));
    assert_eq!(
        view.conversation.geolocation.as_ref().and_then(|place| place.address.as_deref()),
        Some("Berlin")
    );

    let plain = world.ledger.store().conversation(&world.ann, &id, false).await.unwrap().unwrap();
    assert_eq!((plain.segments, plain.people), (None, vec![]));
    assert_eq!(
        world.ledger.store().conversation(&world.bob, &id, true).await.unwrap(),
        None,
        "another user's"
    );
}

#[tokio::test]
async fn list_shows_of_each_conversation_what_its_view_shows() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "in_progress", 0).await;
    world
        .ledger
        .store()
        .append_segments(&world.ann, &id, &[segment(None, "SPEAKER_01", "Hello.", 0.0)])
        .await
        .unwrap()
        .unwrap();
    world
        .run(
            "insert into folders (user_id, folder_id, name) values ('ann', 'f', 'Filed'); \
             insert into action_items (user_id, action_item_id, description, completed, created_at, updated_at, \
                 due_at, completed_at, conversation_id) \
             values ('ann', 'i1', 'First', true, '2026-01-01Z', '2026-01-02Z', '2026-01-03Z', '2026-01-04Z', 'c'), \
                 ('ann', 'i2', 'Second', false, '2026-01-05Z', '2026-01-06Z', null, null, 'c'); \
             update conversations set status = 'completed', language = 'de', source = 'phone', title = 'title', \
                 overview = 'overview', emoji = '🦊', category = 'health', starred = true, visibility = 'shared', \
                 folder_id = 'f', created_at = '2026-02-01Z', updated_at = '2026-02-02Z', \
                 started_at = '2026-02-03Z', finished_at = '2026-02-04Z', finalization_revision = 7, \
                 events = '[{\"title\": \"Dinner\", \"start\": \"2026-03-05T19:00:00Z\"}]', \
                 apps_results = '[{\"app_id\": \"minutes\", \"content\": \"We met.\"}]', \
                 geolocation = '{\"latitude\": 52.5, \"longitude\": 13.4}'",
        )
        .await;
    world.conversation(&world.ann, "bare", "completed", 0).await;

    for with_transcript in [false, true] {
        let page = world
            .ledger
            .store()
            .conversations(&world.ann, &ConversationFilter { with_transcript, ..all() })
            .await
            .unwrap();
        let [bare, full] = page.as_slice() else { panic!("two conversations: {page:?}") };
        for listed in [bare, full] {
            let id = &listed.conversation.id;
            let single = world.ledger.store().conversation(&world.ann, id, with_transcript).await.unwrap();
            assert_eq!(Some(listed), single.as_ref());
        }
        let (seen, made) = (&full.conversation, &full.conversation.structured);
        assert_eq!((seen.user_id.as_str(), seen.id.as_str()), ("ann", "c"));
        let at = |day| format!("2026-02-{day:02}T00:00:00+00:00");
        let times = [seen.created_at, seen.updated_at, seen.started_at, seen.finished_at];
        assert_eq!(times.map(|time| time.to_rfc3339()), [1, 2, 3, 4].map(at));
        assert_eq!((seen.language.as_str(), seen.source.as_str()), ("de", "phone"));
        assert_eq!(
            (made.title.as_str(), made.overview.as_str(), made.emoji.as_str()),
            ("title", "overview", "🦊")
        );
        assert_eq!((made.category, made.events.len()), (Category::Health, 1));
        assert_eq!((seen.starred, seen.discarded, seen.finalization_revision), (true, false, 7));
        assert_eq!(
            (seen.visibility, seen.folder_id.is_some(), seen.geolocation.is_some()),
            (Visibility::Shared, true, true)
        );
        assert_eq!((full.folder_name.as_deref(), full.user_name.as_deref()), (Some("Filed"), Some("ANN")));
        assert_eq!(full.apps_results, [(Some("minutes".to_owned()), "We met.".to_owned())]);
        let of_items: Vec<_> = full
            .action_items
            .iter()
            .map(|item| {
                let days = [Some(item.created_at), Some(item.updated_at), item.due_at, item.completed_at];
                (
                    item.id.as_str(),
                    item.description.as_str(),
                    item.completed,
                    days.map(|at| at.map(|at| at.day())),
                )
            })
            .collect();
        assert_eq!(
            of_items,
            [
                ("i1", "First", true, [Some(1), Some(2), Some(3), Some(4)]),
                ("i2", "Second", false, [Some(5), Some(6), None, None]),
            ]
        );
    }
}

#[tokio::test]
async fn change_conversation_marks_fields_as_set_by_the_user() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "failed", 0).await;
    world.run("update conversations set discarded = true, discarded_by_failure = true").await;
    let change = ConversationChange {
        title: Some("Mine".into()),
        discarded: Some(true),
        starred: Some(true),
        folder_id: Some(None),
    };
    assert!(!world.ledger.store().change_conversation(&world.bob, &id, &change).await.unwrap());
    assert!(
        !world
            .ledger
            .store()
            .change_conversation(&world.ann, &ConversationId::new("none"), &change)
            .await
            .unwrap()
    );
    assert!(world.ledger.store().change_conversation(&world.ann, &id, &change).await.unwrap());
    let marked = "select count(*) from conversations where title = 'Mine' and title_by_person and discarded \
                 and discarded_by_person and not discarded_by_failure and starred and folder_id is null \
                 and folder_by_person";
    assert_eq!(world.count(marked).await, 1);
}

#[tokio::test]
async fn change_conversation_marks_only_the_changed_fields() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "completed", 0).await;
    let star = ConversationChange { starred: Some(true), ..ConversationChange::default() };
    assert!(world.ledger.store().change_conversation(&world.ann, &id, &star).await.unwrap());
    let untouched = "select count(*) from conversations where starred and title = 'Talk c' and not title_by_person \
                     and not discarded_by_person and not folder_by_person";
    assert_eq!(world.count(untouched).await, 1);
}

#[tokio::test]
async fn unreadable_events_are_an_error_without_their_content() {
    let world = World::new().await;
    let id = world.conversation(&world.ann, "c", "completed", 0).await;
    world.run("update conversations set events = '[{\"title\": \"Secret dinner\"}]'").await;
    let error = world.ledger.store().conversation(&world.ann, &id, false).await.unwrap_err();
    assert!(matches!(&error, Error::ImpossibleRow { column: "events", id, .. } if id == "c"));
    assert!(!format!("{error}").contains("Secret"));
}

fn is_retryable<T>(answer: Result<T, Error>) -> bool {
    answer.is_err_and(|error| error.is_passing())
}

#[tokio::test]
async fn single_statement_reads_time_out_on_a_locked_table() {
    let world = World::new().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let mut holder = world.pool.begin().await.unwrap();
    sqlx::raw_sql("lock table conversations, memories, folders, developer_keys in access exclusive mode")
        .execute(&mut *holder)
        .await
        .unwrap();
    let (filter, memories) = (ConversationFilter::default(), MemoryFilter::default());
    let (page, memories, folders, key) = tokio::join!(
        ledger.store().conversations(ann, &filter),
        ledger.store().memories(ann, &memories),
        ledger.store().folders(ann),
        ledger.store().key_owner(&[0; 32]),
    );
    assert!(is_retryable(page) && is_retryable(memories) && is_retryable(folders) && is_retryable(key));
    holder.rollback().await.unwrap();
    assert!(ledger.store().conversations(ann, &filter).await.is_ok(), "and go on when it is free");
}
