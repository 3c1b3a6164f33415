//! Memories that a user creates and changes.

use ledger::NewPersonMemory;
use records::{MemoryCategory, MemoryId};
use store::MemoryFilter;

use crate::world::World;

fn new(id: &str) -> NewPersonMemory {
    NewPersonMemory {
        id: MemoryId::new(id),
        content: format!("Fact {id}"),
        category: MemoryCategory::Core,
        public: false,
        tags: vec!["one".into(), "two".into()],
    }
}

#[tokio::test]
async fn create_memories_marks_them_reviewed_and_keeps_order() {
    let world = World::new().await;
    let public = NewPersonMemory { public: true, category: MemoryCategory::Work, ..new("b") };
    let made = world.ledger.create_memories(&world.ann, &[new("a"), public]).await.unwrap();
    assert_eq!(made.iter().map(|memory| memory.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((made[0].public, made[1].public), (false, true));
    assert_eq!(made[0].tags, ["one", "two"]);
    for memory in &made {
        assert!(memory.manually_added && memory.reviewed && !memory.edited);
        assert_eq!((memory.user_review, &memory.conversation_id), (Some(true), &None));
    }
    let all = MemoryFilter { limit: 9, ..MemoryFilter::default() };
    assert_eq!(world.ledger.store().memories(&world.ann, &all).await.unwrap(), made);
    assert_eq!(world.ledger.store().memories(&world.bob, &all).await.unwrap(), []);
}

#[tokio::test]
async fn create_memories_is_all_or_nothing() {
    let world = World::new().await;
    world.ledger.create_memories(&world.ann, &[new("taken")]).await.unwrap();
    assert!(world.ledger.create_memories(&world.ann, &[new("a"), new("taken")]).await.is_err());
    assert_eq!(world.count("select count(*) from memories").await, 1);
}
