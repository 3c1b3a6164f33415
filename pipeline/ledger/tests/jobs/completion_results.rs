//! What a completion makes of existing items and memories: what a later revision replaces, what is old enough to be
//! extracted again, and which open items take over a due date.

use std::sync::Arc;

use job::Outcome;
use ledger::{Completion, Finished, NewItem, NewMemory, Results, StoredJob};
use records::{ConversationId, MemoryCategory, UserId};

use crate::world::{World, completion};

fn item(description: &str) -> NewItem {
    NewItem { description: description.into(), due_at: None }
}

fn memory(content: &str) -> NewMemory {
    NewMemory { content: content.into(), category: MemoryCategory::Core }
}

async fn complete(world: &World, claimed: &StoredJob, results: Results) -> Finished {
    world.ledger.complete(&completion(claimed, Outcome::Kept, results)).await.unwrap()
}

/// Completes conversation `c`, and claims its second revision.
async fn second_revision(world: &World) -> StoredJob {
    let first = world.claimed("c").await;
    complete(world, &first, Results::default()).await;
    let id = ConversationId::new("c");
    let admitted = world.ledger.reprocess(&world.ann, &id, None).await.unwrap().unwrap();
    world.claim(&admitted.job_id).await
}

async fn ids(world: &World, sql: &'static str) -> Vec<String> {
    world.list(sql).await
}

#[tokio::test]
async fn later_revision_replaces_untouched_items_and_memories() {
    let world = World::new().await;
    let second = second_revision(&world).await;
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id, \
                 revision, by_person) \
             select 'ann', id, id, now() - interval '9 days', now(), 'c', revision, by_person \
             from (values ('made', 1, false), ('touched', 1, true), ('of a later one', 3, false), ('own', null, true)) \
                 i (id, revision, by_person); \
             insert into memories (user_id, memory_id, content, category, created_at, updated_at, conversation_id, \
                 revision, edited, reviewed, manually_added, user_review) \
             select 'ann', id, id, 'core', now(), now(), 'c', revision, id = 'edited', id = 'reviewed', id = 'own', \
                 case id when 'liked' then true when 'disliked' then false end \
             from (values ('made', 1), ('edited', 1), ('reviewed', 1), ('own', 1), ('liked', 1), ('disliked', 1), \
                 ('of a later one', 3)) m (id, revision)",
        )
        .await;
    complete(&world, &second, Results::default()).await;
    let items = ids(&world, "select action_item_id from action_items order by 1").await;
    assert_eq!(items, ["of a later one", "own", "touched"]);
    let memories = ids(&world, "select memory_id from memories order by 1").await;
    assert_eq!(memories, ["disliked", "edited", "liked", "of a later one", "own", "reviewed"]);
}

#[tokio::test]
async fn equal_items_are_written_again_after_two_days() {
    let world = World::new().await;
    let first = world.claimed("c").await;
    let both = || Results { items: vec![item("Call Tom"), item("Buy milk")], ..Results::default() };
    complete(&world, &first, both()).await;
    world
        .run(
            "update action_items set created_at = created_at - interval '3 days' where description = 'Call Tom'; \
             update action_items set created_at = created_at - interval '1 day' where description = 'Buy milk'",
        )
        .await;
    let next = world.claimed("d").await;
    let finished = complete(&world, &next, both()).await;
    assert_eq!(finished, Finished::Completed { items: 1, memories: 0, deliveries: 0 });
    let written = "select description from action_items where conversation_id = 'd'";
    assert_eq!(ids(&world, written).await, ["Call Tom"]);
}

#[tokio::test]
async fn due_date_is_taken_over_by_an_open_item_without_one() {
    let world = World::new().await;
    world.ledger.store().create_user(&UserId::new("bob"), &Default::default()).await.unwrap();
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at, completed, \
                 completed_at) \
             select u, id, id, now(), now(), due_at, done, case when done then now() end \
             from unnest(array['ann', 'bob']) u, \
                 (values ('open', null::timestamptz, false), ('not named', null, false), ('done', null, true), \
                     ('dated', '2026-01-01T00:00:00Z', false)) i (id, due_at, done)",
        )
        .await;
    let run = world.claimed("c").await;
    let due_at = world.ledger.db().now().await.unwrap() + chrono::TimeDelta::days(3);
    let due_dates = ["open", "done", "dated"].map(|id| (id.to_owned(), due_at)).to_vec();
    complete(&world, &run, Results { due_dates, ..Results::default() }).await;
    let changed = "select user_id || ' ' || action_item_id from action_items where due_at > now()";
    assert_eq!(ids(&world, changed).await, ["ann open"]);
    let reminded = "select user_id || ' ' || action_item_id from reminders where due_at > now()";
    assert_eq!(ids(&world, reminded).await, ["ann open"], "she is reminded of it");
    let left = "select count(*) from action_items where due_at = '2026-01-01T00:00:00Z'";
    assert_eq!(world.count(left).await, 2);
}

#[tokio::test]
async fn completion_writes_at_most_four_memories() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let memories = ["a", "b", "c", "d", "e"].map(memory).to_vec();
    let finished = complete(&world, &run, Results { memories, ..Results::default() }).await;
    assert_eq!(finished, Finished::Completed { items: 0, memories: 4, deliveries: 0 });
    assert_eq!(ids(&world, "select content from memories order by 1").await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn identical_texts_are_written_once_whatever_the_engine_compares() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    let results = Results {
        items: vec![item("Call Tom"), item("Call Tom")],
        memories: vec![memory("Likes tea"), memory("Likes tea")],
        ..Results::default()
    };
    let same = Arc::new(|_: &str, _: &str| false);
    let completion = Completion { claimed, outcome: Outcome::Kept, results, same };
    let finished = world.ledger.complete(&Arc::new(completion)).await.unwrap();
    assert!(matches!(finished, Finished::Completed { .. }), "{finished:?}");
    assert_eq!(world.count("select count(*) from action_items").await, 1);
    assert_eq!(world.count("select count(*) from memories").await, 1);
}

#[tokio::test]
async fn batched_completions_compare_items_of_their_own_user_only() {
    let world = World::new().await;
    let bob = UserId::new("bob");
    assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
    let mut runs = vec![world.claimed("c").await];
    for id in ["c", "d"] {
        world.ledger.create_conversation(&bob, crate::world::new_conversation(id), None).await.unwrap();
    }
    let id = sqlx::query_scalar::<_, String>(
        "select job_id from finalization_jobs where user_id = 'bob' and conversation_id = 'd'",
    );
    let id = job::JobId::from_text(id.fetch_one(&world.pool).await.unwrap());
    runs.push(world.claim(&id).await);
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id, \
                 revision) values ('bob', 'i', 'Call Tom', now() - interval '9 days', now(), 'c', 1)",
        )
        .await;
    let results = || Results { items: vec![item("Call Tom")], ..Results::default() };
    // Concurrent: one batch.
    let (one, other) =
        tokio::join!(complete(&world, &runs[0], results()), complete(&world, &runs[1], results()));
    let news = Finished::Completed { items: 1, memories: 0, deliveries: 0 };
    assert_eq!((one, other), (news.clone(), news));
}

/// 501 items and 1,001 memories of Ann's, all of today and of no conversation. The higher the number, the older.
pub(crate) const MANY_RESULTS: &str = "insert into action_items (user_id, action_item_id, description, created_at, updated_at) \
        select 'ann', 'i' || n, 'thing ' || n, now() - n * interval '1 second', now() from generate_series(1, 501) n; \
    insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
        select 'ann', 'm' || n, 'thing ' || n, 'core', now() - n * interval '1 second', now() \
        from generate_series(1, 1001) n";

#[tokio::test]
async fn completion_compares_with_the_newest_500_items_and_1000_memories() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    world.run(MANY_RESULTS).await;
    let results = Results {
        items: vec![item("thing 500"), item("thing 501")],
        memories: vec![memory("thing 1000"), memory("thing 1001")],
        ..Results::default()
    };
    let finished = complete(&world, &run, results).await;
    assert_eq!(finished, Finished::Completed { items: 1, memories: 1, deliveries: 0 });
    let items = "select description from action_items where conversation_id = 'c'";
    assert_eq!(ids(&world, items).await, ["thing 501"]);
    let memories = "select content from memories where conversation_id = 'c'";
    assert_eq!(ids(&world, memories).await, ["thing 1001"]);
}

#[tokio::test]
async fn embedding_of_the_newer_revision_replaces_the_older() {
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
