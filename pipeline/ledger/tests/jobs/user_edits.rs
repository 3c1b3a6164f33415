//! What a user edits while a conversation is processed stays, whatever the engine finds.

use job::Outcome;
use ledger::Results;
use records::{Structured, UserId};

use crate::world::{World, completion};

/// Title, folder, and whether it is discarded.
async fn stored(world: &World) -> (String, Option<String>, bool) {
    world.row("select title, folder_id, discarded from conversations").await
}

/// Ann and Bob, each with a folder of their own, and Ann with one more.
async fn with_folders() -> World {
    let world = World::new().await;
    world.ledger.store().create_user(&UserId::new("bob"), &Default::default()).await.unwrap();
    world
        .run(
            "insert into folders (user_id, folder_id, name, position, created_at, updated_at) \
             select u, f, f, n, now(), now() \
             from (values ('ann', 'mine', 90), ('ann', 'fitting', 91), ('bob', 'theirs', 90)) d (u, f, n)",
        )
        .await;
    world
}

fn found(folder: &str) -> Results {
    Results {
        structured: Structured { title: "Found".into(), ..Structured::default() },
        folder_id: Some(folder.into()),
        ..Results::default()
    }
}

#[tokio::test]
async fn completion_keeps_the_users_title_folder_and_discard() {
    let world = with_folders().await;
    let run = world.claimed("c").await;
    world
        .run(
            "update conversations set title = 'Mine', title_by_person = true, folder_id = 'mine', \
                 folder_by_person = true, discarded = true, discarded_by_person = true",
        )
        .await;
    world.ledger.complete(&completion(&run, Outcome::Kept, found("fitting"))).await.unwrap();
    assert_eq!(stored(&world).await, ("Mine".into(), Some("mine".into()), true));
}

#[tokio::test]
async fn completion_sets_title_folder_and_discard_the_user_did_not_edit() {
    let world = with_folders().await;
    let run = world.claimed("c").await;
    world.run("update conversations set title = 'Before', discarded = true").await;
    world.ledger.complete(&completion(&run, Outcome::Kept, found("fitting"))).await.unwrap();
    assert_eq!(stored(&world).await, ("Found".into(), Some("fitting".into()), false));
}

#[tokio::test]
async fn completion_ignores_another_users_folder() {
    let world = with_folders().await;
    let run = world.claimed("c").await;
    let (_, before, _) = stored(&world).await;
    world.ledger.complete(&completion(&run, Outcome::Kept, found("theirs"))).await.unwrap();
    assert_eq!(stored(&world).await, ("Found".into(), before, false));
}

#[tokio::test]
async fn completion_does_not_discard_what_the_user_kept() {
    for (by_person, discarded) in [(true, false), (false, true)] {
        let world = World::new().await;
        let run = world.claimed("c").await;
        sqlx::query("update conversations set discarded = false, discarded_by_person = $1")
            .bind(by_person)
            .execute(&world.pool)
            .await
            .unwrap();
        world.ledger.complete(&completion(&run, Outcome::Discarded, Results::default())).await.unwrap();
        assert_eq!(stored(&world).await.2, discarded);
    }
}
