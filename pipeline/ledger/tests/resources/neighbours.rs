//! A user's change of one object changes nothing else: not the user's other objects, and not those of another user whose
//! objects have the very same ids.

use ledger::{ItemChange, MemoryChange};
use records::{ActionItemId, ConversationId, FolderId, GoalId, MemoryId};
use secrecy::SecretString;
use store::{ConversationChange, DeletedFolder, FolderChange, GoalChange, NewFolder, UserChange};

use crate::{bystanders, world::World};

/// Ann and Bob have two of everything, `x` and `y`; conversations lie in the folder of their name. Of each there is a
/// delivery that waits and one that was given up with its words, about the thing itself, and the same about a
/// conversation's part of that id.
pub(crate) async fn street() -> World {
    let world = World::new().await;
    world
        .run(
            "create temporary view ids as select u, id from unnest(array['ann', 'bob']) u, unnest(array['x', 'y']) id; \
             insert into folders (user_id, folder_id, name) select u, id, id from ids; \
             insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
                     language, source, status, folder_id) \
                 select u, id, now(), now(), now(), now(), 'en', 'phone', 'completed', id from ids; \
             insert into action_items (user_id, action_item_id, description, created_at, updated_at) \
                 select u, id, 'Do', now(), now() from ids; \
             insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
                 select u, id, 'Fact', 'core', now(), now() from ids; \
             insert into goals (user_id, goal_id, title, target_value, created_at, updated_at) \
                 select u, id, 'G', 9, now(), now() from ids; \
             insert into goal_progress (user_id, goal_id, day, value, recorded_at) \
                 select u, id, '2026-03-02', 1, now() from ids; \
             insert into people (user_id, person_id, name) select u, id, 'Tom' from ids; \
             insert into webhook_endpoints (user_id, endpoint_id, url, events, secret) \
                 select u, id, 'https://example.com', '{}', 'whsec' from ids; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, conversation_id, subject_id, status, \
                     next_at, finished_at, body, occurred_at) \
                 select u, 'y', concat_ws('_', id, c, status), 'memory.created', c, id, status, next_at, finished_at, \
                     body, now() \
                 from ids, (values (null), ('y')) conversations (c), \
                     (values ('pending', now(), null, null), ('exhausted', null, now(), 'words'::bytea)) \
                         s (status, next_at, finished_at, body)",
        )
        .await;
    world
}

/// Whether a row says something of `x`.
const OF_X: &str = "array['folder_id', 'conversation_id', 'action_item_id', 'memory_id', 'goal_id', 'person_id', 'endpoint_id'] \
        && array(select key from jsonb_each_text(t) where value = 'x') \
    or coalesce(t ->> 'subject_id' = 'x', false) and t ->> 'conversation_id' is null";

/// Runs a verb that says something of Ann's `x`, and holds everything else against what it was.
async fn spared<T>(world: &World, verb: impl Future<Output = T>) -> T {
    bystanders::spared(world, |_| OF_X, verb).await
}

#[tokio::test]
async fn what_is_said_of_an_item_or_a_memory_concerns_that_one_alone() {
    let world = street().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let (item, memory) = (ActionItemId::new("x"), MemoryId::new("x"));
    let done = ItemChange { completed: Some(true), ..ItemChange::default() };
    assert!(
        spared(&world, async { ledger.change_action_item(ann, &item, &done).await.unwrap() }).await.is_some()
    );
    let edited = MemoryChange { content: Some("Other".into()), ..MemoryChange::default() };
    assert!(
        spared(&world, async { ledger.change_memory(ann, &memory, &edited).await.unwrap() }).await.is_some()
    );
    const WAITING: &str = "select count(*) from webhook_deliveries where user_id = 'ann' and subject_id = 'x' \
        and conversation_id is null and (status = 'pending' or body is not null)";
    assert_eq!(world.count(WAITING).await, 2);
    assert!(spared(&world, async { ledger.delete_action_item(ann, &item).await.unwrap() }).await);
    assert_eq!(world.count(WAITING).await, 0);
    let world = street().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    assert!(spared(&world, async { ledger.delete_memory(ann, &memory).await.unwrap() }).await);
    assert_eq!(world.count(WAITING).await, 0);
}

/// Whether a row says something of the part `x` of the conversation `y`.
const OF_X_IN_Y: &str = "coalesce(t ->> 'action_item_id' = 'x' or t ->> 'memory_id' = 'x' \
        or t ->> 'subject_id' = 'x' and t ->> 'conversation_id' = 'y', false)";

#[tokio::test]
async fn what_is_to_be_told_of_a_part_of_a_conversation_goes_with_that_part_alone() {
    const WAITING: &str = "select count(*) from webhook_deliveries where user_id = 'ann' and subject_id = 'x' \
        and conversation_id = 'y' and (status = 'pending' or body is not null)";
    for is_item in [true, false] {
        let world = street().await;
        world
            .run(
                "update action_items set conversation_id = 'y'; update memories set conversation_id = 'y'; \
                 insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, conversation_id, status, \
                         next_at, body, occurred_at) \
                     values ('ann', 'x', 'x_y_exhausted', 'conversation.completed', 'y', 'pending', now(), 'words', now())",
            )
            .await;
        assert_eq!(world.count(WAITING).await, 2);
        let delete = async {
            match is_item {
                true => world.ledger.delete_action_item(&world.ann, &ActionItemId::new("x")).await.unwrap(),
                false => world.ledger.delete_memory(&world.ann, &MemoryId::new("x")).await.unwrap(),
            }
        };
        assert!(bystanders::spared(&world, |_| OF_X_IN_Y, delete).await);
        assert_eq!(world.count(WAITING).await, 0, "an item: {is_item}");
    }
}

#[tokio::test]
async fn what_is_said_of_a_goal_or_a_person_concerns_that_one_alone() {
    let world = street().await;
    let (ledger, ann, goal) = (&world.ledger, &world.ann, GoalId::new("x"));
    let named = GoalChange { title: Some("Read".into()), ..GoalChange::default() };
    assert!(
        spared(&world, async { ledger.store().change_goal(ann, &goal, &named).await.unwrap() }).await.is_ok()
    );
    let told =
        spared(&world, async { ledger.store().set_goal_progress(ann, &goal, 3.0).await.unwrap() }).await;
    assert_eq!(told.unwrap().current_value, 3.0);
    assert!(spared(&world, async { ledger.store().delete_goal(ann, &goal).await.unwrap() }).await);
    assert!(
        spared(&world, async { ledger.store().rename_person(ann, "x", "Tim").await.unwrap() })
            .await
            .is_some()
    );
    assert!(spared(&world, async { ledger.store().forget_person(ann, "x").await.unwrap() }).await);
    let named = UserChange { name: Some(Some("Anna".into())), ..UserChange::default() };
    let changed = async { ledger.change_user(ann, &named).await.unwrap() };
    assert!(bystanders::spared(&world, |_| "true", changed).await.is_some());
}

#[tokio::test]
async fn what_is_said_of_a_folder_concerns_that_one_and_what_lies_in_it() {
    let world = street().await;
    let (ledger, ann, folder) = (&world.ledger, &world.ann, FolderId::new("x"));
    let named = FolderChange { name: Some("Other".into()), ..FolderChange::default() };
    assert!(
        spared(&world, async { ledger.store().change_folder(ann, &folder, &named).await.unwrap() })
            .await
            .is_some()
    );
    let deleted = spared(&world, async { ledger.store().delete_folder(ann, &folder).await.unwrap() }).await;
    assert_eq!(deleted, DeletedFolder::Deleted { taken_out: 1 });
    assert_eq!(world.count("select count(*) from conversations where folder_id is null").await, 1);
}

#[tokio::test]
async fn what_is_said_of_a_conversation_or_an_endpoint_concerns_that_one_alone() {
    let world = street().await;
    let (ledger, ann, conversation) = (&world.ledger, &world.ann, ConversationId::new("x"));
    let secret = SecretString::from("whsec_bmV3");
    let rotated =
        spared(&world, async { ledger.outbox().rotate_secret(ann, "x", &secret).await.unwrap() }).await;
    assert_eq!(rotated.unwrap().id, "x");
    let previous =
        "select count(*) from webhook_endpoints where previous_secret = 'whsec' and secret = 'whsec_bmV3'";
    assert_eq!(world.count(previous).await, 1);
    let titled = ConversationChange { title: Some("T".into()), ..ConversationChange::default() };
    assert!(
        spared(&world, async {
            ledger.store().change_conversation(ann, &conversation, &titled).await.unwrap()
        })
        .await
    );
    assert!(spared(&world, async { ledger.delete_conversation(ann, &conversation).await.unwrap() }).await);
}

#[tokio::test]
async fn somebody_elses_folder_is_none_to_file_into() {
    let world = World::new().await;
    world
        .run("insert into folders (user_id, folder_id, name, position) values ('bob', 'bobs', 'B', 90)")
        .await;
    let conversation = world.conversation(&world.ann, "c", "completed", 0).await;
    let filed =
        ConversationChange { folder_id: Some(Some(FolderId::new("bobs"))), ..ConversationChange::default() };
    assert!(world.ledger.store().change_conversation(&world.ann, &conversation, &filed).await.unwrap());
    assert_eq!(world.count("select count(*) from conversations where folder_id is not null").await, 0);
    let mine = world.ledger.store().create_folder(&world.ann, &folder("mine")).await.unwrap().unwrap();
    assert_eq!(mine.order, 3, "behind her own, and not behind Bob's");
}

fn folder(id: &str) -> NewFolder {
    NewFolder {
        id: FolderId::new(id),
        name: id.to_owned(),
        description: None,
        color: None,
        icon: None,
        order: None,
    }
}

#[tokio::test]
async fn a_folder_that_is_made_while_another_is_gets_the_next_place() {
    let world = World::new().await;
    let fourth = "select from users where user_id = 'ann' for no key update; \
        insert into folders (user_id, folder_id, name, position) values ('ann', 'fourth', 'F', 3)";
    let verb = async { world.ledger.store().create_folder(&world.ann, &folder("fifth")).await.unwrap() };
    let made = world.database.overtaken_by(fourth, verb).await;
    assert_eq!(made.unwrap().order, 4);
}

#[tokio::test]
async fn what_a_completion_files_while_the_folder_is_deleted_is_taken_out_again() {
    let world = street().await;
    // A completion holds its person, and files what it found into a folder that is there.
    let completion = "select from users where user_id = 'ann' for no key update; \
        update conversations set folder_id = 'x' where user_id = 'ann' and conversation_id = 'y'";
    let mut holder = world.database.hold_locks(completion).await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let deleted =
        tokio::spawn(async move { ledger.store().delete_folder(&ann, &FolderId::new("x")).await.unwrap() });
    world.database.until_somebody_waits().await;
    let free = "select folder_id from folders where user_id = 'ann' and folder_id = 'x' for update nowait";
    assert!(sqlx::raw_sql(free).execute(&world.pool).await.is_ok(), "the person comes before the folder");
    sqlx::raw_sql("commit").execute(&mut holder).await.unwrap();
    assert_eq!(deleted.await.unwrap(), DeletedFolder::Deleted { taken_out: 2 });
}

#[tokio::test]
async fn the_conversation_in_progress_is_ones_own_newest_that_takes_words() {
    let world = World::new().await;
    let open = world.conversation(&world.ann, "open", "in_progress", 5).await;
    world.conversation(&world.ann, "older", "in_progress", 1).await;
    world.conversation(&world.ann, "running", "processing", 9).await;
    assert_eq!(world.ledger.store().in_progress(&world.bob).await.unwrap(), None);
    world.conversation(&world.bob, "bobs", "in_progress", 9).await;
    assert_eq!(world.ledger.store().in_progress(&world.ann).await.unwrap().map(|found| found.id), Some(open));
}

#[tokio::test]
async fn what_is_not_there_is_neither_changed_nor_deleted_in_anothers_place() {
    let world = street().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    world.run("delete from action_items where user_id = 'ann' and action_item_id = 'x'").await;
    let (item, done) =
        (ActionItemId::new("x"), ItemChange { completed: Some(true), ..ItemChange::default() });
    let before = bystanders::rows(&world, |_| OF_X).await;
    assert_eq!(ledger.change_action_item(ann, &item, &done).await.unwrap(), None);
    assert!(!ledger.delete_action_item(ann, &item).await.unwrap());
    assert!(!ledger.delete_memory(ann, &MemoryId::new("z")).await.unwrap());
    assert!(!ledger.store().delete_goal(ann, &GoalId::new("z")).await.unwrap());
    assert_eq!(before, bystanders::rows(&world, |_| OF_X).await);
}

#[tokio::test]
async fn things_are_read_by_their_names_and_are_ones_own() {
    let world = street().await;
    world
        .run(
            "update action_items set description = user_id || ' ' || action_item_id; \
             update memories set content = user_id || ' ' || memory_id",
        )
        .await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let items = async |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let items = ledger.store().action_items_named(ann, &names).await.unwrap().into_iter();
        let memories = ledger.store().memories_named(ann, &names).await.unwrap().into_iter();
        (items.map(|one| one.description).collect(), memories.map(|one| one.content).collect())
    };
    let both = |names: &[&str]| -> (Vec<String>, Vec<String>) {
        let names: Vec<String> = names.iter().map(|name| format!("ann {name}")).collect();
        (names.clone(), names)
    };
    assert_eq!(items(&["y", "x", "z"]).await, both(&["y", "x"]), "in the order of the names");
    assert_eq!(items(&["x"]).await, both(&["x"]));
    for user in [ann, &world.bob] {
        for id in ["x", "y"] {
            let told = ledger.store().memory_to_tell(user, &MemoryId::new(id)).await.unwrap().unwrap();
            assert_eq!(told.content, format!("{user} {id}"));
        }
    }
    assert_eq!(ledger.store().memory_to_tell(ann, &MemoryId::new("z")).await.unwrap(), None);
}

#[tokio::test]
async fn a_date_that_somebody_else_sets_meanwhile_is_not_told_by_the_next_change() {
    let world = street().await;
    world
        .run(
            "insert into push_subscriptions (user_id, subscription_id, kind, url) \
             values ('ann', 's', 'webhook', 'https://example.com')",
        )
        .await;
    // The code that sets a date writes its events, too; here only the date is set.
    let dated = "update action_items set due_at = now() + interval '1 day' where user_id = 'ann'";
    let worded = ItemChange { description: Some("Call".into()), ..ItemChange::default() };
    let item = ActionItemId::new("x");
    let verb = async { world.ledger.change_action_item(&world.ann, &item, &worded).await.unwrap() };
    let changed = world.database.overtaken_by(dated, verb).await;
    assert!(changed.unwrap().due_at.is_some());
    assert_eq!(world.count("select count(*) from push_deliveries").await, 0);
}
