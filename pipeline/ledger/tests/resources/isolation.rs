//! Isolation: a change of one object changes no other, neither of the same user nor another user's with the same id.

use ledger::{ItemChange, MemoryChange};
use records::{ActionItemId, ConversationId, FolderId, GoalId, MemoryId};
use secrecy::SecretString;
use store::{ConversationChange, DeletedFolder, FolderChange, GoalChange, NewFolder, UserChange};

use crate::world::{World, changes_only, other_rows};

/// Ann and Bob have two of every object, `x` and `y`; conversations are in the folder of the same id. For each there
/// is a pending and a given-up delivery (with its body), about the object itself and about an equally named part of a
/// conversation.
pub(crate) async fn two_of_everything() -> World {
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

/// Condition: the row is about `x`.
const OF_X: &str = "array['folder_id', 'conversation_id', 'action_item_id', 'memory_id', 'goal_id', 'person_id', 'endpoint_id'] \
        && array(select key from jsonb_each_text(t) where value = 'x') \
    or coalesce(t ->> 'subject_id' = 'x', false) and t ->> 'conversation_id' is null";

/// Runs an operation on Ann's `x`, and asserts that rows about anything else stay as they were.
async fn changes_only_x<T>(world: &World, operation: impl Future<Output = T>) -> T {
    changes_only(world, |_| OF_X, operation).await
}

#[tokio::test]
async fn item_and_memory_changes_change_no_other_object() {
    let world = two_of_everything().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let (item, memory) = (ActionItemId::new("x"), MemoryId::new("x"));
    let done = ItemChange { completed: Some(true), ..ItemChange::default() };
    assert!(
        changes_only_x(&world, async { ledger.change_action_item(ann, &item, &done).await.unwrap() })
            .await
            .is_some()
    );
    let edited = MemoryChange { content: Some("Other".into()), ..MemoryChange::default() };
    assert!(
        changes_only_x(&world, async { ledger.change_memory(ann, &memory, &edited).await.unwrap() })
            .await
            .is_some()
    );
    const WAITING: &str = "select count(*) from webhook_deliveries where user_id = 'ann' and subject_id = 'x' \
        and conversation_id is null and (status = 'pending' or body is not null)";
    assert_eq!(world.count(WAITING).await, 2);
    assert!(changes_only_x(&world, async { ledger.delete_action_item(ann, &item).await.unwrap() }).await);
    assert_eq!(world.count(WAITING).await, 0);
    let world = two_of_everything().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    assert!(changes_only_x(&world, async { ledger.delete_memory(ann, &memory).await.unwrap() }).await);
    assert_eq!(world.count(WAITING).await, 0);
}

/// Condition: the row is about the part `x` of the conversation `y`.
const OF_X_IN_Y: &str = "coalesce(t ->> 'action_item_id' = 'x' or t ->> 'memory_id' = 'x' \
        or t ->> 'subject_id' = 'x' and t ->> 'conversation_id' = 'y', false)";

#[tokio::test]
async fn deleting_an_extracted_item_cancels_its_own_deliveries_only() {
    const WAITING: &str = "select count(*) from webhook_deliveries where user_id = 'ann' and subject_id = 'x' \
        and conversation_id = 'y' and (status = 'pending' or body is not null)";
    for is_item in [true, false] {
        let world = two_of_everything().await;
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
        assert!(changes_only(&world, |_| OF_X_IN_Y, delete).await);
        assert_eq!(world.count(WAITING).await, 0, "an item: {is_item}");
    }
}

#[tokio::test]
async fn goal_person_and_user_changes_change_no_other_object() {
    let world = two_of_everything().await;
    let (ledger, ann, goal) = (&world.ledger, &world.ann, GoalId::new("x"));
    let named = GoalChange { title: Some("Read".into()), ..GoalChange::default() };
    assert!(
        changes_only_x(&world, async { ledger.store().change_goal(ann, &goal, &named).await.unwrap() })
            .await
            .is_ok()
    );
    let progress =
        changes_only_x(&world, async { ledger.store().set_goal_progress(ann, &goal, 3.0).await.unwrap() })
            .await;
    assert_eq!(progress.unwrap().current_value, 3.0);
    assert!(changes_only_x(&world, async { ledger.store().delete_goal(ann, &goal).await.unwrap() }).await);
    // The user's row says that conversations are to be indexed anew.
    let own = |table: &str| if table == "users" { "true" } else { OF_X };
    let renamed = async { ledger.store().rename_person(ann, "x", "Tim").await.unwrap() };
    assert!(changes_only(&world, own, renamed).await.is_some());
    assert!(changes_only(&world, own, async { ledger.store().forget_person(ann, "x").await.unwrap() }).await);
    let named = UserChange { name: Some(Some("Anna".into())), ..UserChange::default() };
    let changed = async { ledger.change_user(ann, &named).await.unwrap() };
    assert!(changes_only(&world, |_| "true", changed).await.is_some());
}

#[tokio::test]
async fn folder_changes_change_that_folder_and_its_conversations_only() {
    let world = two_of_everything().await;
    let (ledger, ann, folder) = (&world.ledger, &world.ann, FolderId::new("x"));
    let named = FolderChange { name: Some("Other".into()), ..FolderChange::default() };
    assert!(
        changes_only_x(&world, async { ledger.store().change_folder(ann, &folder, &named).await.unwrap() })
            .await
            .is_some()
    );
    let deleted =
        changes_only_x(&world, async { ledger.store().delete_folder(ann, &folder).await.unwrap() }).await;
    assert_eq!(deleted, DeletedFolder::Deleted { taken_out: 1 });
    assert_eq!(world.count("select count(*) from conversations where folder_id is null").await, 1);
}

#[tokio::test]
async fn conversation_and_endpoint_changes_change_no_other_object() {
    let world = two_of_everything().await;
    let (ledger, ann, conversation) = (&world.ledger, &world.ann, ConversationId::new("x"));
    let secret = SecretString::from("whsec_bmV3");
    let rotated =
        changes_only_x(&world, async { ledger.outbox().rotate_secret(ann, "x", &secret).await.unwrap() })
            .await;
    assert_eq!(rotated.unwrap().id, "x");
    let previous =
        "select count(*) from webhook_endpoints where previous_secret = 'whsec' and secret = 'whsec_bmV3'";
    assert_eq!(world.count(previous).await, 1);
    let titled = ConversationChange { title: Some("T".into()), ..ConversationChange::default() };
    assert!(
        changes_only_x(&world, async {
            ledger.store().change_conversation(ann, &conversation, &titled).await.unwrap()
        })
        .await
    );
    assert!(
        changes_only_x(&world, async { ledger.delete_conversation(ann, &conversation).await.unwrap() }).await
    );
}

#[tokio::test]
async fn conversation_cannot_be_filed_into_another_users_folder() {
    let world = World::new().await;
    world
        .run("insert into folders (user_id, folder_id, name, position) values ('bob', 'bobs', 'B', 90)")
        .await;
    let conversation = world.conversation(&world.ann, "c", "completed", 0).await;
    let filed =
        ConversationChange { folder_id: Some(Some(FolderId::new("bobs"))), ..ConversationChange::default() };
    assert!(!world.ledger.store().change_conversation(&world.ann, &conversation, &filed).await.unwrap());
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
async fn concurrent_folder_creates_get_different_orders() {
    let world = World::new().await;
    let fourth = "select from users where user_id = 'ann' for no key update; \
        insert into folders (user_id, folder_id, name, position) values ('ann', 'fourth', 'F', 3)";
    let operation = async { world.ledger.store().create_folder(&world.ann, &folder("fifth")).await.unwrap() };
    let made = world.database.overtaken_by(fourth, operation).await;
    assert_eq!(made.unwrap().order, 4);
}

#[tokio::test]
async fn delete_folder_takes_out_what_a_completion_files_meanwhile() {
    let world = two_of_everything().await;
    // A completion locks its user, and files the conversation into an existing folder.
    let completion = "select from users where user_id = 'ann' for no key update; \
        update conversations set folder_id = 'x' where user_id = 'ann' and conversation_id = 'y'";
    let mut holder = world.database.hold_locks(completion).await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let deleted =
        tokio::spawn(async move { ledger.store().delete_folder(&ann, &FolderId::new("x")).await.unwrap() });
    world.database.until_somebody_waits().await;
    let free = "select folder_id from folders where user_id = 'ann' and folder_id = 'x' for update nowait";
    assert!(sqlx::raw_sql(free).execute(&world.pool).await.is_ok(), "the user is locked before the folder");
    sqlx::raw_sql("commit").execute(&mut holder).await.unwrap();
    assert_eq!(deleted.await.unwrap(), DeletedFolder::Deleted { taken_out: 2 });
}

#[tokio::test]
async fn in_progress_returns_the_users_own_newest_open_conversation() {
    let world = World::new().await;
    let open = world.conversation(&world.ann, "open", "in_progress", 5).await;
    world.conversation(&world.ann, "older", "in_progress", 1).await;
    world.conversation(&world.ann, "running", "processing", 9).await;
    assert_eq!(world.ledger.store().in_progress(&world.bob).await.unwrap(), None);
    world.conversation(&world.bob, "bobs", "in_progress", 9).await;
    assert_eq!(world.ledger.store().in_progress(&world.ann).await.unwrap().map(|found| found.id), Some(open));
}

#[tokio::test]
async fn changes_of_missing_objects_change_nothing() {
    let world = two_of_everything().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    world.run("delete from action_items where user_id = 'ann' and action_item_id = 'x'").await;
    let (item, done) =
        (ActionItemId::new("x"), ItemChange { completed: Some(true), ..ItemChange::default() });
    let before = other_rows(&world, |_| OF_X).await;
    assert_eq!(ledger.change_action_item(ann, &item, &done).await.unwrap(), None);
    assert!(!ledger.delete_action_item(ann, &item).await.unwrap());
    assert!(!ledger.delete_memory(ann, &MemoryId::new("z")).await.unwrap());
    assert!(!ledger.store().delete_goal(ann, &GoalId::new("z")).await.unwrap());
    assert_eq!(before, other_rows(&world, |_| OF_X).await);
}

#[tokio::test]
async fn items_and_memories_are_read_by_id_for_their_own_user() {
    let world = two_of_everything().await;
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
}

#[tokio::test]
async fn item_change_creates_no_push_for_a_due_date_set_by_another_change() {
    let world = two_of_everything().await;
    world
        .run(
            "insert into push_subscriptions (user_id, subscription_id, kind, url) \
             values ('ann', 's', 'webhook', 'https://example.com')",
        )
        .await;
    // The code that sets a due date also creates its pushes; here only the date is set.
    let dated = "update action_items set due_at = now() + interval '1 day' where user_id = 'ann'";
    let worded = ItemChange { description: Some("Call".into()), ..ItemChange::default() };
    let item = ActionItemId::new("x");
    let operation = async { world.ledger.change_action_item(&world.ann, &item, &worded).await.unwrap() };
    let changed = world.database.overtaken_by(dated, operation).await;
    assert!(changed.unwrap().due_at.is_some());
    assert_eq!(world.count("select count(*) from push_deliveries").await, 0);
}
