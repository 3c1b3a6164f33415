//! What pages and single views show beside a conversation is its own: folder, items, names, of two people whose things
//! have the very same ids.

use records::ConversationId;
use store::{ConversationFilter, ConversationView, DatePage};

use crate::{neighbours::street, world::World};

/// The street, in which every word says whose it is and which.
async fn named_street() -> World {
    let world = street().await;
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

/// Whether all that is shown is of that person's conversation of that id.
fn is_all_of(view: &ConversationView, user: &str, id: &str) {
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
async fn a_page_shows_beside_each_conversation_what_is_its_own() {
    let world = named_street().await;
    for with_transcript in [false, true] {
        for user in [&world.ann, &world.bob] {
            let page = async |limit, offset| {
                let page = DatePage { limit, offset, ..DatePage::default() };
                let filter = ConversationFilter { page, with_transcript, ..ConversationFilter::default() };
                world.ledger.store().conversations(user, &filter).await.unwrap()
            };
            let (all, last) = (page(9, 0).await, page(9, 1).await);
            assert_eq!((all.len(), last.len()), (2, 1));
            is_all_of(&all[0], user.as_str(), "x");
            is_all_of(&all[1], user.as_str(), "y");
            assert_eq!(last[0], all[1]);
            assert_eq!(all[0].segments.is_some(), with_transcript);
        }
    }
}

#[tokio::test]
async fn a_view_shows_what_is_the_conversations_own_also_when_several_are_asked_for_at_once() {
    let world = named_street().await;
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
            is_all_of(&view, user, id);
            assert_eq!(view.segments.is_some(), with_transcript);
        }
    }
}

#[tokio::test]
async fn whom_somebody_else_names_in_a_conversation_of_that_id_is_not_shown() {
    let world = named_street().await;
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
async fn somebody_whom_one_knows_is_read_by_id() {
    let world = named_street().await;
    for (user, id) in [(&world.ann, "x"), (&world.ann, "y"), (&world.bob, "x")] {
        let known = world.ledger.store().known_person(user, id).await.unwrap().unwrap();
        assert_eq!((known.id.as_str(), known.name), (id, format!("{user} {id}")));
    }
    assert_eq!(world.ledger.store().known_person(&world.ann, "z").await.unwrap(), None);
    assert!(!world.ledger.store().forget_person(&world.ann, "z").await.unwrap());
    assert_eq!(world.count("select count(*) from people").await, 4);
}

/// Ann's newest conversations with their transcripts.
async fn page(world: &World, limit: i64) -> Result<Vec<ConversationView>, db::Error> {
    let page = DatePage { limit, ..DatePage::default() };
    let filter = ConversationFilter { page, with_transcript: true, ..ConversationFilter::default() };
    world.ledger.store().conversations(&world.ann, &filter).await
}

#[tokio::test]
async fn the_size_of_a_page_is_known_before_its_transcripts_are_read_and_counts_them_alone() {
    let world = named_street().await;
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
        // "ann x", "Ü", "id" and "x"; and what a segment takes besides its texts.
        assert_eq!(size, segments * (5 + 2 + 2 + 1 + 3 * size_of::<records::Segment>()));
        let refusal =
            world.ledger.store().conversations_within(&world.ann, &filter, |_| Err("no room")).await.unwrap();
        assert_eq!(refusal, Err("no room"));
    }
}

#[tokio::test]
async fn a_page_of_more_words_than_one_answer_may_hold_is_refused_and_a_shorter_one_is_not() {
    let world = named_street().await;
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
    // Asked together, single views are read one by one.
    let one = |id: &'static str| {
        let world = &world;
        let id = ConversationId::new(id);
        async move { world.ledger.store().conversation(&world.ann, &id, true).await.unwrap().unwrap() }
    };
    let (x, y) = tokio::join!(one("x"), one("y"));
    assert_eq!([x, y].map(|view| view.segments.map(|all| all.len())), [Some(5), Some(5)]);
}

#[tokio::test]
async fn a_page_of_conversations_that_are_long_but_not_too_long_is_shown() {
    let world = named_street().await;
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
async fn labels_count_as_words_do() {
    let world = named_street().await;
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
async fn what_is_shown_is_of_one_moment_also_where_words_go_while_it_is_read() {
    let gone = "lock table transcript_segments in access exclusive mode; delete from transcript_segments; \
        update conversations set title = 'wordless'";
    let world = named_street().await;
    let id = ConversationId::new("x");
    let view =
        world.database.overtaken_by(gone, world.ledger.store().conversation(&world.ann, &id, true)).await;
    // It is of one statement, which waits for the lock before it looks: all is of the later moment.
    let view = view.unwrap().unwrap();
    assert_eq!((view.conversation.structured.title.as_str(), view.segments), ("wordless", Some(Vec::new())));
    let world = named_street().await;
    let page = DatePage { limit: 9, ..DatePage::default() };
    let filter = ConversationFilter { page, with_transcript: true, ..ConversationFilter::default() };
    let views =
        world.database.overtaken_by(gone, world.ledger.store().conversations(&world.bob, &filter)).await;
    is_all_of(&views.unwrap()[0], "bob", "x");
}
