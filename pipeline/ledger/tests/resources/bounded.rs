//! No wait is unbounded (DESIGN §4), not even for what is one statement and no transaction.

use db::Error;
use store::{ConversationFilter, MemoryFilter};

use crate::world::World;

fn is_passing<T>(answer: Result<T, Error>) -> bool {
    answer.is_err_and(|error| error.is_passing())
}

#[tokio::test]
async fn reads_of_one_statement_give_up_on_what_somebody_holds() {
    let world = World::new().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let mut holder = world.pool.begin().await.unwrap();
    sqlx::raw_sql("lock table conversations, memories, folders, developer_keys in access exclusive mode")
        .execute(&mut *holder)
        .await
        .unwrap();
    let (filter, memories) = (ConversationFilter::default(), MemoryFilter::default());
    let (page, memories, folders, key) = tokio::join!(
        ledger.store().conversations(ann, &filter),
        ledger.store().memories(ann, &memories),
        ledger.store().folders(ann),
        ledger.store().key_owner(&[0; 32]),
    );
    assert!(is_passing(page) && is_passing(memories) && is_passing(folders) && is_passing(key));
    holder.rollback().await.unwrap();
    assert!(ledger.store().conversations(ann, &filter).await.is_ok(), "and go on when it is free");
}
