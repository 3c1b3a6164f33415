//! Folders: create, change, delete, and filing conversations.

use records::{FolderId, UserId};
use store::{ConversationChange, DeletedFolder, FolderChange, NewFolder};
use testbed::both_at_once;

use crate::world::World;

fn new(id: &str) -> NewFolder {
    NewFolder {
        id: FolderId::new(id),
        name: format!("Folder {id}"),
        description: None,
        color: None,
        icon: None,
        order: None,
    }
}

fn file_into(folder: &str) -> ConversationChange {
    ConversationChange { folder_id: Some(Some(FolderId::new(folder))), ..ConversationChange::default() }
}

#[tokio::test]
async fn folder_has_defaults_order_and_count_of_listed_conversations() {
    let world = World::new().await;
    let made = world.ledger.store().create_folder(&world.ann, &new("f")).await.unwrap().unwrap();
    assert_eq!((made.color.as_str(), made.icon.as_str(), made.order), ("#6B7280", "folder", 3));
    assert_eq!((made.is_default, made.is_system, made.conversation_count), (false, false, 0));
    assert_eq!(world.ledger.store().create_folder(&UserId::new("unknown"), &new("g")).await.unwrap(), None);
    for (id, status) in
        [("a", "completed"), ("b", "completed"), ("hidden", "completed"), ("run", "processing")]
    {
        let id = world.conversation(&world.ann, id, status, 0).await;
        assert!(world.ledger.store().change_conversation(&world.ann, &id, &file_into("f")).await.unwrap());
    }
    world.ledger.store().create_folder(&world.bob, &new("f")).await.unwrap().unwrap();
    let bobs = world.conversation(&world.bob, "a", "completed", 0).await;
    assert!(world.ledger.store().change_conversation(&world.bob, &bobs, &file_into("f")).await.unwrap());
    world.run("update conversations set discarded = true where conversation_id = 'hidden'").await;
    let folders = world.ledger.store().folders(&world.ann).await.unwrap();
    let counts: Vec<_> =
        folders.iter().map(|folder| (folder.name.as_str(), folder.conversation_count)).collect();
    assert_eq!(counts, [("Work", 0), ("Personal", 0), ("Social", 0), ("Folder f", 2)]);
    assert!(folders[..3].iter().all(|folder| folder.is_system));
}

#[tokio::test]
async fn folder_can_be_created_after_one_with_the_highest_order() {
    let world = World::new().await;
    let last = NewFolder { order: Some(i32::MAX), ..new("f") };
    world.ledger.store().create_folder(&world.ann, &last).await.unwrap().unwrap();
    let made = world.ledger.store().create_folder(&world.ann, &new("g")).await.unwrap().unwrap();
    assert_eq!(made.order, i32::MAX);
}

#[tokio::test]
async fn change_folder_keeps_unnamed_fields() {
    let world = World::new().await;
    let described = NewFolder { description: Some("Rides".into()), ..new("f") };
    world.ledger.store().create_folder(&world.ann, &described).await.unwrap().unwrap();
    let change = FolderChange { color: Some("#00FF00".into()), order: Some(0), ..FolderChange::default() };
    let id = FolderId::new("f");
    let changed = world.ledger.store().change_folder(&world.ann, &id, &change).await.unwrap().unwrap();
    assert_eq!((changed.color.as_str(), changed.order), ("#00FF00", 0));
    assert_eq!((changed.name.as_str(), changed.description.as_deref()), ("Folder f", Some("Rides")));
    let plain = FolderChange { description: Some(None), ..FolderChange::default() };
    let changed = world.ledger.store().change_folder(&world.ann, &id, &plain).await.unwrap().unwrap();
    assert_eq!(changed.description, None);
    assert_eq!(world.ledger.store().change_folder(&world.bob, &id, &change).await.unwrap(), None);
}

#[tokio::test]
async fn delete_folder_takes_its_conversations_out_and_spares_system_folders() {
    let world = World::new().await;
    world.ledger.store().create_folder(&world.ann, &new("f")).await.unwrap();
    let id = world.conversation(&world.ann, "c", "processing", 0).await;
    world.ledger.store().change_conversation(&world.ann, &id, &file_into("f")).await.unwrap();
    let folder = FolderId::new("f");
    assert_eq!(
        world.ledger.store().delete_folder(&world.bob, &folder).await.unwrap(),
        DeletedFolder::Unknown
    );
    let deleted = world.ledger.store().delete_folder(&world.ann, &folder).await.unwrap();
    assert_eq!(deleted, DeletedFolder::Deleted { taken_out: 1 });
    let view = world.ledger.store().conversation(&world.ann, &id, false).await.unwrap().unwrap();
    assert_eq!((view.conversation.folder_id, view.folder_name), (None, None));
    let work = world.ledger.store().folders(&world.ann).await.unwrap()[0].id.clone();
    assert_eq!(world.ledger.store().delete_folder(&world.ann, &work).await.unwrap(), DeletedFolder::System);
    assert!(world.ledger.store().has_folder(&world.ann, &work).await.unwrap());
}

/// More conversations than one transaction takes out.
#[tokio::test]
async fn delete_folder_ends_however_many_conversations_are_in_it() {
    let world = World::new().await;
    world.ledger.store().create_folder(&world.ann, &new("f")).await.unwrap();
    world.database.seed(&["insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
             language, source, status, folder_id) \
         select 'ann', 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'completed', 'f' from generate_series(1, 2500) n"]).await;
    let deleted = world.ledger.store().delete_folder(&world.ann, &FolderId::new("f")).await.unwrap();
    assert_eq!(deleted, DeletedFolder::Deleted { taken_out: 2_500 });
    assert_eq!(world.count("select count(*) from conversations where folder_id is not null").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filing_and_deleting_a_folder_at_once_leaves_no_conversation_in_it() {
    let world = World::new().await;
    let other = world.other_process();
    let id = world.conversation(&world.ann, "c", "completed", 0).await;
    for round in 0..8 {
        let folder = format!("f{round}");
        world.ledger.store().create_folder(&world.ann, &new(&folder)).await.unwrap();
        let (ledger, ann, id, change) =
            (world.ledger.clone(), world.ann.clone(), id.clone(), file_into(&folder));
        let filing = async move { ledger.store().change_conversation(&ann, &id, &change).await.unwrap() };
        let (ledger, ann, folder) = (other.clone(), world.ann.clone(), FolderId::new(&folder));
        let deleting = async move { ledger.store().delete_folder(&ann, &folder).await.unwrap() };
        let (_, deleted) = both_at_once(filing, deleting).await;
        assert!(matches!(deleted, DeletedFolder::Deleted { .. }));
        assert_eq!(world.count("select count(*) from conversations where folder_id is not null").await, 0);
    }
}
