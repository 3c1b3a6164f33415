//! A job that cannot be stored because another process always seems faster: no caller tries for ever.

use std::time::Duration;

use db::Error;
use job::FailureCode;
use tokio::time::timeout;

use crate::world::{World, fail};

/// From now on no change of the job of `bad` is kept, and none is refused.
async fn nothing_is_kept_of_the_bad_one(world: &World) {
    world
        .run(
            "create function lose() returns trigger language plpgsql as $$begin return null; end$$; \
             create trigger lose before update on finalization_jobs for each row \
                 when (new.conversation_id = 'bad') execute function lose()",
        )
        .await;
}

#[tokio::test]
async fn a_verb_that_always_comes_second_says_so() {
    let world = World::new().await;
    let token = world.claimed("bad").await.lease_token();
    nothing_is_kept_of_the_bad_one(&world).await;
    let transition = fail(FailureCode::InvalidJob);
    let said = timeout(Duration::from_secs(30), world.ledger.settle(&token, transition, None)).await;
    let said = said.expect("it does not try for ever");
    assert!(matches!(said, Err(Error::Contended { .. })), "{said:?}");
}
