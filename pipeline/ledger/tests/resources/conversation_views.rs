//! Lists and views of conversations: each shows its own folder, items and names, where two users have objects with
//! the same ids; and the limits of their size.

use records::ConversationId;
use store::{ConversationFilter, ConversationView, DatePage};

use crate::{isolation::two_of_everything, world::World};

/// Two of everything, in which each text names its user and object.
async fn with_owner_names() -> World {
    let world = two_of_everything().await;
    world
        .run(
            "update folders set name = user_id || ' ' || folder_id; \
             update conversations set title = user_id || ' ' || conversation_id, \
                 created_at = created_at + case conversation_id when 'x' then interval '1 hour' else '0' end; \
             update people set name = user_id || ' ' || person_id; \
             update action_items set description = user_id || ' ' || action_item_id, conversation_id = action_item_id; \
             insert into transcript_segments (user_id, conversation_id, position, content, person_id, start_seconds, \
                     end_seconds) \
                 select user_id, conversation_id, 0, title, conversation_id, 0, 1 from conversations",
        )
        .await;
    world
}

/// Asserts that everything in the view belongs to that user's conversation.
fn assert_all_belongs_to(view: &ConversationView, user: &str, id: &str) {
    let own = format!("{user} {id}");
    let items: Vec<&str> = view.action_items.iter().map(|item| item.description.as_str()).collect();
    assert_eq!(
        (view.conversation.structured.title.as_str(), view.folder_name.as_deref(), items),
        (own.as_str(), Some(own.as_str()), vec![own.as_str()])
    );
    assert_eq!(view.user_name, Some(user.to_uppercase()));
    if let Some(segments) = &view.segments {
        let words: Vec<&str> = segments.iter().map(|segment| segment.text.as_str()).collect();
        assert_eq!(words, [own.as_str()]);
        assert_eq!(view.people, [(id.to_owned(), own)]);
    }
}

#[tokio::test]
async fn list_shows_each_conversations_own_folder_items_and_people() {
    let world = with_owner_names().await;
    for with_transcript in [false, true] {
        for user in [&world.ann, &world.bob] {
            let page = async |limit, offset| {
                let page = DatePage { limit, offset, ..DatePage::default() };
                let filter = ConversationFilter { page, with_transcript, ..ConversationFilter::default() };
                world.ledger.store().conversations(user, &filter).await.unwrap()
            };
            let (all, last) = (page(9, 0).await, page(9, 1).await);
            assert_eq!((all.len(), last.len()), (2, 1));
            assert_all_belongs_to(&all[0], user.as_str(), "x");
            assert_all_belongs_to(&all[1], user.as_str(), "y");
            assert_eq!(last[0], all[1]);
            assert_eq!(all[0].segments.is_some(), with_transcript);
        }
    }
}

#[tokio::test]
async fn concurrent_views_show_each_conversations_own_data() {
    let world = with_owner_names().await;
    for with_transcript in [false, true] {
        let view = async |user, id: &str| {
            world
                .ledger
                .store()
                .conversation(user, &ConversationId::new(id), with_transcript)
                .await
                .unwrap()
                .unwrap()
        };
        let (one, two, three) =
            tokio::join!(view(&world.ann, "x"), view(&world.ann, "y"), view(&world.bob, "x"));
        for (view, user, id) in [(one, "ann", "x"), (two, "ann", "y"), (three, "bob", "x")] {
            assert_all_belongs_to(&view, user, id);
            assert_eq!(view.segments.is_some(), with_transcript);
        }
    }
}

#[tokio::test]
async fn view_shows_no_people_of_another_users_equal_id() {
    let world = with_owner_names().await;
    world
        .run("update transcript_segments set person_id = 'y' where user_id = 'bob' and conversation_id = 'x'")
        .await;
    let people = async |user| {
        let view =
            world.ledger.store().conversation(user, &ConversationId::new("x"), true).await.unwrap().unwrap();
        view.people.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(people(&world.ann).await, ["ann x"]);
    assert_eq!(people(&world.bob).await, ["bob y"]);
}

#[tokio::test]
async fn known_person_is_read_by_user_and_id() {
    let world = with_owner_names().await;
    for (user, id) in [(&world.ann, "x"), (&world.ann, "y"), (&world.bob, "x")] {
        let known = world.ledger.store().known_person(user, id).await.unwrap().unwrap();
        assert_eq!((known.id.as_str(), known.name), (id, format!("{user} {id}")));
    }
    assert_eq!(world.ledger.store().known_person(&world.ann, "z").await.unwrap(), None);
    assert!(!world.ledger.store().forget_person(&world.ann, "z").await.unwrap());
    assert_eq!(world.count("select count(*) from people").await, 4);
}

/// Lists Ann's newest conversations with their transcripts.
async fn page(world: &World, limit: i64) -> Result<Vec<ConversationView>, db::Error> {
    let page = DatePage { limit, ..DatePage::default() };
    let filter = ConversationFilter { page, with_transcript: true, ..ConversationFilter::default() };
    world.ledger.store().conversations(&world.ann, &filter).await
}

#[tokio::test]
async fn conversations_within_reports_the_size_before_it_reads_transcripts() {
    let world = with_owner_names().await;
    world.run("update transcript_segments set speaker = 'Ü', segment_id = 'id'").await;
    for (limit, segments) in [(1, 1), (9, 2)] {
        let page = DatePage { limit, ..DatePage::default() };
        let filter = ConversationFilter { page, with_transcript: true, ..ConversationFilter::default() };
        let mut size = 0;
        let reserve = |bytes| {
            size = bytes;
            Ok::<(), &str>(())
        };
        let views =
            world.ledger.store().conversations_within(&world.ann, &filter, reserve).await.unwrap().unwrap();
        assert_eq!(views.len(), segments);
        // "ann x", "Ü", "id" and "x"; and the size of a segment besides its texts.
        assert_eq!(size, segments * (5 + 2 + 2 + 1 + 3 * size_of::<records::Segment>()));
        let refusal =
            world.ledger.store().conversations_within(&world.ann, &filter, |_| Err("no room")).await.unwrap();
        assert_eq!(refusal, Err("no room"));
    }
}

#[tokio::test]
async fn list_with_too_much_text_is_refused() {
    let world = with_owner_names().await;
    world
        .run(
            "delete from transcript_segments; \
             insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
                 select user_id, conversation_id, n, repeat('word ', 4 * 1024 * 1024 / 5), n, n \
                 from conversations, generate_series(1, 5) n where user_id = 'ann'",
        )
        .await;
    assert!(matches!(page(&world, 2).await, Err(db::Error::TooMuch)));
    assert_eq!(page(&world, 1).await.unwrap()[0].segments.as_ref().map(Vec::len), Some(5));
    // Concurrent single views are read one by one.
    let one = |id: &'static str| {
        let world = &world;
        let id = ConversationId::new(id);
        async move { world.ledger.store().conversation(&world.ann, &id, true).await.unwrap().unwrap() }
    };
    let (x, y) = tokio::join!(one("x"), one("y"));
    assert_eq!([x, y].map(|view| view.segments.map(|all| all.len())), [Some(5), Some(5)]);
}

#[tokio::test]
async fn list_with_long_transcripts_within_the_limit_is_shown() {
    let world = with_owner_names().await;
    world
        .run(
            "delete from transcript_segments; \
             insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
                 select user_id, conversation_id, 1, repeat('word ', 3 * 1024 * 1024), 1, 1 \
                 from conversations where user_id = 'ann'",
        )
        .await;
    assert_eq!(page(&world, 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn list_size_counts_speaker_and_person_ids() {
    let world = with_owner_names().await;
    world
        .run(
            "delete from transcript_segments; \
             insert into transcript_segments (user_id, conversation_id, position, content, speaker, person_id, \
                 start_seconds, end_seconds) \
                 select user_id, conversation_id, n, 'a', repeat('🦊', 500), repeat('🦊', 500), n, n \
                 from conversations, generate_series(1, 5000) n where user_id = 'ann'",
        )
        .await;
    assert!(matches!(page(&world, 2).await, Err(db::Error::TooMuch)));
    assert_eq!(page(&world, 1).await.unwrap()[0].segments.as_ref().map(Vec::len), Some(5_000));
}

#[tokio::test]
async fn view_is_consistent_when_segments_are_deleted_meanwhile() {
    let gone = "lock table transcript_segments in access exclusive mode; delete from transcript_segments; \
        update conversations set title = 'wordless'";
    let world = with_owner_names().await;
    let id = ConversationId::new("x");
    let view =
        world.database.overtaken_by(gone, world.ledger.store().conversation(&world.ann, &id, true)).await;
    // It is one statement, which waits for the lock before it reads: everything is of the later time.
    let view = view.unwrap().unwrap();
    assert_eq!((view.conversation.structured.title.as_str(), view.segments), ("wordless", Some(Vec::new())));
    let world = with_owner_names().await;
    let page = DatePage { limit: 9, ..DatePage::default() };
    let filter = ConversationFilter { page, with_transcript: true, ..ConversationFilter::default() };
    let views =
        world.database.overtaken_by(gone, world.ledger.store().conversations(&world.bob, &filter)).await;
    assert_all_belongs_to(&views.unwrap()[0], "bob", "x");
}
