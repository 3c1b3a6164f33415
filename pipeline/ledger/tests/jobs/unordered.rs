//! The order of locks is the statement's own, and not the plan's: it holds also where the server meets rows in another.

use job::Outcome;
use ledger::Results;

use crate::locks::is_free_while;
use crate::world::{World, completion};

/// Takes the indexes of conversations away: whatever looks for them meets them in the order in which they lie.
async fn without_indexes(world: &World) {
    world
        .run(
            "alter table conversations drop constraint conversations_pkey cascade; \
             do $$declare index text; begin \
                 for index in select indexrelid::regclass from pg_index where indrelid = 'conversations'::regclass loop \
                     execute 'drop index ' || index; \
                 end loop; \
             end$$; \
             analyze",
        )
        .await;
}

#[tokio::test]
async fn whatever_the_plan_completions_of_one_batch_hold_conversations_in_the_order_of_their_keys() {
    for outcome in [Outcome::Kept, Outcome::Discarded] {
        let world = World::new().await;
        let (other, one) = (world.claimed("b").await, world.claimed("a").await);
        // Written again, `a` lies behind `b`.
        world.run("update conversations set updated_at = updated_at where conversation_id = 'a'").await;
        without_indexes(&world).await;
        let ledger = world.other_process();
        let verb = async move {
            let asked = [&other, &one].map(|run| completion(run, outcome, Results::default()));
            tokio::join!(ledger.complete(&asked[0]), ledger.complete(&asked[1]))
        };
        let held = "select from conversations where conversation_id = 'b' for update";
        let probe = "select from conversations where conversation_id = 'a' for no key update nowait";
        let (free, (first, second)) = is_free_while(&world, held, verb, probe).await;
        assert!(!free, "{outcome}: `a` comes before `b`");
        assert_eq!((first.is_ok(), second.is_ok()), (true, true));
    }
}
