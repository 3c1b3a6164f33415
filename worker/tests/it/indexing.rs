use tokio_util::sync::CancellationToken;
use worker::Ended;

use crate::{
    bench::{Bench, PATIENCE},
    engines::Script,
};

#[tokio::test]
async fn items_are_indexed_while_conversations_cannot_be() {
    let bench = Bench::new().await;
    let mut working = bench.work(&Script::open());
    bench.admit("c1").await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);
    working.stop().await;
    let refuse = "create function refuse() returns trigger language plpgsql as \
                  $$begin raise exception 'no'; end$$; \
                  create trigger refuse before update on conversations for each row execute function refuse()";
    bench.database.run(refuse).await;
    let pool = bench.database.pool(1).await;
    let waiting = "select count(*) from action_items where words is null";
    let left = || async { sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() };
    assert!(left().await > 0);

    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    tokio::spawn(worker::index(bench.ledger.clone(), stop));
    let indexed = async {
        while left().await > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, indexed).await.expect("items wait for conversations");
}
