//! What a person said of a conversation while it was being processed stands, whatever the engine finds.

use job::Outcome;
use ledger::Results;
use records::{Structured, UserId};

use crate::world::{World, completion};

/// Title, folder, and whether it is discarded.
async fn seen(world: &World) -> (String, Option<String>, bool) {
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
async fn a_title_a_folder_and_a_discard_of_a_persons_own_stand() {
    let world = with_folders().await;
    let run = world.claimed("c").await;
    world
        .run(
            "update conversations set title = 'Mine', title_by_person = true, folder_id = 'mine', \
                 folder_by_person = true, discarded = true, discarded_by_person = true",
        )
        .await;
    world.ledger.complete(&completion(&run, Outcome::Kept, found("fitting"))).await.unwrap();
    assert_eq!(seen(&world).await, ("Mine".into(), Some("mine".into()), true));
}

#[tokio::test]
async fn what_nobody_said_anything_of_is_the_engines_to_say() {
    let world = with_folders().await;
    let run = world.claimed("c").await;
    world.run("update conversations set title = 'Before', discarded = true").await;
    world.ledger.complete(&completion(&run, Outcome::Kept, found("fitting"))).await.unwrap();
    assert_eq!(seen(&world).await, ("Found".into(), Some("fitting".into()), false));
}

#[tokio::test]
async fn the_folder_of_somebody_else_is_no_folder() {
    let world = with_folders().await;
    let run = world.claimed("c").await;
    let (_, before, _) = seen(&world).await;
    world.ledger.complete(&completion(&run, Outcome::Kept, found("theirs"))).await.unwrap();
    assert_eq!(seen(&world).await, ("Found".into(), before, false));
}

#[tokio::test]
async fn what_a_person_kept_is_not_discarded_by_a_judge() {
    for (by_person, discarded) in [(true, false), (false, true)] {
        let world = World::new().await;
        let run = world.claimed("c").await;
        sqlx::query("update conversations set discarded = false, discarded_by_person = $1")
            .bind(by_person)
            .execute(&world.pool)
            .await
            .unwrap();
        world.ledger.complete(&completion(&run, Outcome::Discarded, Results::default())).await.unwrap();
        assert_eq!(seen(&world).await.2, discarded);
    }
}

#[tokio::test]
async fn of_two_revisions_the_newer_vector_is_kept() {
    let world = World::new().await;
    let vector =
        |number| Results { embedding: Some((format!("model {number}"), vec![number])), ..Results::default() };
    let first = world.claimed("c").await;
    world.ledger.complete(&completion(&first, Outcome::Kept, vector(1.0))).await.unwrap();
    let id = records::ConversationId::new("c");
    let admitted = world.ledger.reprocess(&world.ann, &id, None).await.unwrap().unwrap();
    let second = world.claim(&admitted.job_id).await;
    world.ledger.complete(&completion(&second, Outcome::Kept, vector(2.0))).await.unwrap();
    let kept: Vec<(String, Vec<f32>)> = world.rows("select model, vector from embeddings").await;
    assert_eq!(kept, [("model 2".to_owned(), vec![2.0])]);
}
