//! What a run reads: its own conversation, and of its user's data what is recent enough to be compared.

use records::{Background, Meeting, Talk};

use crate::{completion_results::MANY_RESULTS, three_conversations::ThreeConversations, world::World};

#[tokio::test]
async fn run_input_is_of_its_own_conversation_alone_and_batched() {
    let three = ThreeConversations::new().await;
    let runs = three.completed().await;
    three.world.run("update conversations set private_text = user_id || ' ' || conversation_id").await;
    // One by one, and concurrently.
    let concurrent = tokio::join!(
        three.world.ledger.run_input(&runs[0]),
        three.world.ledger.run_input(&runs[1]),
        three.world.ledger.run_input(&runs[2])
    );
    let concurrent = [concurrent.0, concurrent.1, concurrent.2];
    for (run, concurrent) in runs.iter().zip(concurrent) {
        let alone = three.world.ledger.run_input(run).await.unwrap().unwrap();
        let own = format!("{} {}", run.user_id, run.conversation_id);
        assert_eq!(alone.talk.lines, Talk::lines_of_text(&own));
        assert_eq!(concurrent.unwrap().unwrap(), alone);
    }
}

#[tokio::test]
async fn run_input_includes_kind_and_meeting_context() {
    let three = ThreeConversations::new().await;
    let run = three.completed().await.remove(0);
    let background = async |change: &'static str| {
        three.world.run(change).await;
        three.world.ledger.run_input(&run).await.unwrap().unwrap().talk.background
    };
    let none = "update conversations set text_source = 'other_text', external_data = '{}'";
    assert_eq!(background(none).await, Background::default());
    let kind = "update conversations set text_source_spec = 'email'";
    assert_eq!(background(kind).await.kind.as_deref(), Some("email"));
    let kind = "update conversations set text_source = 'message'";
    assert_eq!(background(kind).await.kind.as_deref(), Some("message: email"));
    let meeting = "update conversations set external_data = '{\"calendar_meeting_context\": {\"title\": \" Stand-up \", \
        \"participants\": [{\"name\": \"Tom\", \"email\": \"tom@example.org\"}, {\"name\": \" \", \"email\": null}], \
        \"notes\": null, \"platform\": \"phone\"}}'";
    let expected =
        Meeting { title: Some("Stand-up".to_owned()), participants: vec!["Tom".to_owned()], agenda: None };
    assert_eq!(background(meeting).await.meeting, Some(expected));
    let empty = "update conversations set external_data = '{\"calendar_meeting_context\": {\"title\": null, \"participants\": []}}'";
    assert_eq!(background(empty).await.meeting, None);
    let other = "update conversations set external_data = '{\"calendar_meeting_context\": 7}'";
    assert_eq!(background(other).await.meeting, None, "an unknown shape fails no run");
}

#[tokio::test]
async fn run_input_includes_items_of_the_last_two_days() {
    let three = ThreeConversations::new().await;
    let runs = three.completed().await;
    let items = async |created: &'static str| {
        three.world.run(created).await;
        three.world.ledger.run_input(&runs[0]).await.unwrap().unwrap().recent_items.len()
    };
    assert_eq!(
        items("update action_items set created_at = clock_timestamp() - interval '47 hours'").await,
        1
    );
    assert_eq!(
        items("update action_items set created_at = clock_timestamp() - interval '49 hours'").await,
        0
    );
}

#[tokio::test]
async fn run_input_includes_the_newest_500_items_and_1000_memories() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    world.run(MANY_RESULTS).await;
    let input = world.ledger.run_input(&run).await.unwrap().unwrap();
    let newest = |most| (1..=most).map(|n| format!("thing {n}")).collect::<Vec<_>>();
    let items: Vec<_> = input.recent_items.into_iter().map(|item| item.description).collect();
    assert_eq!(items, newest(500));
    assert_eq!(input.memories, newest(1_000));
}

#[tokio::test]
async fn run_input_includes_items_and_memories_of_its_own_user() {
    let three = ThreeConversations::new().await;
    let runs = three.completed().await;
    // Of no conversation, as if created by the user.
    three
        .world
        .run("update action_items set conversation_id = null; update memories set conversation_id = null")
        .await;
    for (run, own) in runs.iter().zip([["ann c", "ann d"].as_slice(), &["ann c", "ann d"], &["bob c"]]) {
        let input = three.world.ledger.run_input(run).await.unwrap().unwrap();
        let mut items: Vec<_> = input.recent_items.into_iter().map(|item| item.description).collect();
        let mut memories = input.memories;
        items.sort();
        memories.sort();
        let all = |words: &str| own.iter().map(|own| format!("{words} First of {own}")).collect::<Vec<_>>();
        assert_eq!((items, memories), (all("Do"), all("Knows")));
    }
}

#[tokio::test]
async fn run_input_includes_people_whom_it_names_and_folders_of_its_own_user() {
    let three = ThreeConversations::new().await;
    let runs = three.completed().await;
    three
        .world
        .run(
            "insert into people (user_id, person_id, name) values ('ann', 'p', 'Tom'), ('bob', 'p', 'Tim'), \
                 ('bob', 'q', 'Kim'), ('bob', 'unnamed', 'Ada'); \
             insert into transcript_segments (user_id, conversation_id, position, content, person_id, start_seconds, end_seconds) \
                 values ('ann', 'c', 0, 'Well.', 'p', 0, 1), ('ann', 'd', 0, 'Well.', null, 0, 1), \
                     ('bob', 'c', 0, 'Well.', 'q', 0, 1), ('bob', 'c', 1, 'Well.', 'p', 1, 2); \
             update conversations set private_text = null; \
             update folders set description = user_id; \
             update users set name = 'I am ' || user_id",
        )
        .await;
    for (run, (user, people)) in
        runs.iter().zip([("ann", ["Tom"].as_slice()), ("ann", &["Speaker"]), ("bob", &["Kim", "Tim"])])
    {
        let input = three.world.ledger.run_input(run).await.unwrap().unwrap();
        let speakers: Vec<_> = input.talk.lines.iter().filter_map(|line| line.speaker.as_deref()).collect();
        assert_eq!(speakers, people);
        assert_eq!(input.talk.user_name, Some(format!("I am {user}")));
        assert_eq!(input.folders.len(), 3);
        assert!(input.folders.iter().all(|folder| folder.description.as_deref() == Some(user)));
    }
}
