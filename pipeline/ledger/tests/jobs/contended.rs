//! A job that cannot be stored because somebody else always was faster, as it looks: nobody tries for ever.

use std::time::Duration;

use job::{FailureCode, Queue};
use ledger::{Edge, Error};
use tokio::time::timeout;

use crate::world::{World, worker};

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
    let holding = world.claimed("bad").await.holding();
    nothing_is_kept_of_the_bad_one(&world).await;
    let edge = Edge::Fail { code: FailureCode::InvalidJob, retry_after: None, jitter_permille: 0 };
    let said = timeout(Duration::from_secs(30), world.ledger.settle(&holding, edge)).await;
    let said = said.expect("it does not try for ever");
    assert!(matches!(said, Err(Error::Contended { .. })), "{said:?}");
}

#[tokio::test]
async fn a_bell_whose_job_can_never_be_claimed_is_put_off_and_stops_no_other() {
    let world = World::new().await;
    let [bad, good] = [world.admitted("bad").await, world.admitted("good").await];
    world.age(&bad, chrono::Duration::minutes(1)).await;
    nothing_is_kept_of_the_bad_one(&world).await;
    let (mut answers, mut claims) = (Vec::new(), Vec::new());
    // At first it is left to whoever was faster.
    let takes = async {
        while !answers.contains(&"error") {
            let taken = world.ledger.take(Queue::Creation, &worker("w"), 10).await.unwrap();
            answers.extend(taken.answers);
            claims.extend(taken.claims.into_iter().map(|claimed| claimed.job.id));
        }
    };
    timeout(Duration::from_secs(30), takes).await.expect("a take finds out");
    answers.sort();
    assert_eq!((answers, claims), (vec!["claimed", "error"], vec![good]));
    let later = "select count(*) from finalization_bells where ring_at > now() + interval '4 minutes'";
    assert_eq!(world.count(later).await, 1);
}
