//! Query plans: the frequent reads use their indexes at realistic sizes and default planner settings. Measured with
//! the server's counters after the real operation ran, so that no copy of a query is explained instead.

use ledger::{Ledger, Settings};
use operations::Operations;
use outbox::DeliveryPolicy;
use store::{ConversationFilter, DatePage, GoalFilter, ItemFilter, MemoryFilter};

use crate::world::World;

/// Runs an operation in a process of its own, and asserts that it read `table` through `index`, and never by a
/// sequential scan. A session reports its counters when it ends at the latest, so the process's sessions are awaited.
async fn assert_uses(world: &World, table: &str, index: &str, operation: impl AsyncFnOnce(&Ledger)) {
    let before = world.scans(table, index).await;
    let options = world.database.options().application_name("measured");
    let process = Ledger::new(options, Settings::default());
    operation(&process).await;
    process.db().close().await;
    world.database.until_nobody_is("measured").await;
    let after = world.scans(table, index).await;
    assert!(after.1 > before.1, "{index} was not used");
    assert_eq!(after.0, before.0, "{table} was read whole");
}

/// 50,000 conversations of 50 users with an action item each, analyzed.
async fn with_history() -> World {
    let world = World::new().await;
    world.database.seed(&["insert into users (user_id) select 'u' || n from generate_series(0, 49) n; \
             insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
                 language, source, status, discarded) \
             select 'u' || n % 50, 'c' || n, at, at, at, at, 'en', 'phone', \
                 case when n % 20 = 0 then 'failed' else 'completed' end, n % 7 = 0 \
             from (select n, now() - n * interval '1 minute' as at from generate_series(0, 49999) n) s; \
             insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id) \
             select user_id, 'i' || conversation_id, 'Do', created_at, created_at, conversation_id from conversations; \
             analyze"]).await;
    world
}

fn page() -> DatePage {
    DatePage { limit: 25, ..DatePage::default() }
}

#[tokio::test]
async fn conversation_list_uses_its_index() {
    let world = with_history().await;
    let user = records::UserId::new("u3");
    let list = async |ledger: &Ledger| {
        let filter = ConversationFilter { page: page(), ..ConversationFilter::default() };
        assert_eq!(ledger.store().conversations(&user, &filter).await.unwrap().len(), 25);
    };
    assert_uses(&world, "conversations", "conversations_listed", list).await;
    assert_uses(&world, "action_items", "action_items_of_conversation", list).await;
    let deep = async |ledger: &Ledger| {
        let filter =
            ConversationFilter { page: DatePage { offset: 700, ..page() }, ..ConversationFilter::default() };
        assert_eq!(ledger.store().conversations(&user, &filter).await.unwrap().len(), 25);
    };
    assert_uses(&world, "conversations", "conversations_listed", deep).await;
    assert_uses(&world, "action_items", "action_items_of_conversation", deep).await;
}

#[tokio::test]
async fn action_item_list_uses_its_index() {
    let world = with_history().await;
    let user = records::UserId::new("u3");
    assert_uses(&world, "action_items", "action_items_listed", async |ledger| {
        let filter = ItemFilter { page: page(), ..ItemFilter::default() };
        assert_eq!(ledger.store().action_items(&user, &filter).await.unwrap().len(), 25);
    })
    .await;
}

#[tokio::test]
async fn folder_counts_and_starred_conversations_use_their_indexes() {
    let world = with_history().await;
    world.database.seed(&["insert into folders (user_id, folder_id, name) values ('u3', 'f', 'F'), ('u3', 'g', 'G'); \
             update conversations set folder_id = 'f' where user_id = 'u3' and substr(conversation_id, 2)::int % 40 = 3; \
             update conversations set starred = true where user_id = 'u3' and substr(conversation_id, 2)::int % 400 = 3; \
             analyze"]).await;
    let user = records::UserId::new("u3");
    assert_uses(&world, "conversations", "conversations_in_folder", async |ledger| {
        let folders = ledger.store().folders(&user).await.unwrap();
        assert!(folders[0].conversation_count > 0);
    })
    .await;
    assert_uses(&world, "conversations", "conversations_starred", async |ledger| {
        let filter =
            ConversationFilter { page: page(), starred: Some(true), ..ConversationFilter::default() };
        assert!(!ledger.store().conversations(&user, &filter).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn memory_list_uses_its_index() {
    let world = with_history().await;
    world.database.seed(&["insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
             select user_id, 'm' || conversation_id, 'Fact', case when discarded then 'work' else 'core' end, \
                 created_at, created_at from conversations; \
             analyze"]).await;
    let user = records::UserId::new("u3");
    for categories in [vec![], vec![records::MemoryCategory::Work]] {
        assert_uses(&world, "memories", "memories_listed", async |ledger| {
            let filter = MemoryFilter { limit: 25, categories, ..MemoryFilter::default() };
            assert_eq!(ledger.store().memories(&user, &filter).await.unwrap().len(), 25);
        })
        .await;
    }
}

#[tokio::test]
async fn goal_list_uses_its_index() {
    let world = with_history().await;
    world.database.seed(&["insert into goals (user_id, goal_id, title, target_value, is_active, created_at, updated_at) \
             select 'u' || n % 50, 'g' || n, 'Reach it', 1, n >= 19850, now() - n * interval '1 minute', now() \
             from generate_series(0, 19999) n; \
             analyze"]).await;
    let user = records::UserId::new("u3");
    for include_inactive in [false, true] {
        assert_uses(&world, "goals", "goals_listed", async |ledger| {
            let filter = GoalFilter { limit: 10, offset: 0, include_inactive };
            assert!(!ledger.store().goals(&user, &filter).await.unwrap().is_empty());
        })
        .await;
    }
}

/// 50,000 delivered deliveries, 500 due ones, and 20 of dead senders.
#[tokio::test]
async fn claim_deliveries_uses_its_indexes() {
    let world = World::new().await;
    for id in ["w0", "w1", "w2", "w3", "w4"] {
        world.endpoint(&world.ann, id).await;
    }
    world.database.seed(&["insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, sending_until, \
                 finished_at, occurred_at) \
             select 'ann', 'w' || n % 5, 'd' || n, 'conversation.completed', \
                 case when n < 500 then 'pending' when n < 520 then 'sending' else 'delivered' end, \
                 case when n < 500 then now() - interval '1 minute' end, \
                 case when n between 500 and 519 then now() - interval '1 minute' end, \
                 case when n >= 520 then now() end, now() - n * interval '1 second' \
             from generate_series(0, 50519) n; \
             analyze"]).await;
    let claim = async |ledger: &Ledger| {
        assert!(
            !ledger
                .outbox()
                .claim_deliveries(8, &DeliveryPolicy::default(), None)
                .await
                .unwrap()
                .claimed
                .is_empty()
        );
    };
    assert_uses(&world, "webhook_deliveries", "webhook_deliveries_next", claim).await;
    assert_uses(&world, "webhook_deliveries", "webhook_deliveries_sending", claim).await;
}

/// The live quarter is the newest, as in a queue. The table is not vacuumed: that the index is used must not depend on
/// pages that are known to be visible to all, which no vacuum can say while an older transaction is open.
#[tokio::test]
async fn gauges_use_the_indexes_of_live_jobs() {
    let world = World::new().await;
    world.database.seed(&["insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 ready_at, outcome, requires_keys, force_process, admitted_at, reconcile_after_at, created_at, \
                 updated_at, finished_at) \
             select 'ann', 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', \
                 case when live then 'queued' else 'completed' end, case when live then now() end, \
                 case when not live then 'kept' end, false, false, now(), case when live then now() end, now(), now(), \
                 case when not live then now() end \
             from (select n, n > 37499 live from generate_series(0, 49999) n) s; \
             analyze finalization_jobs"]).await;
    let gauges = async |ledger: &Ledger| {
        assert!(Operations::new(ledger).gauges().await.unwrap().jobs.contains(&("queued", 12_500)));
    };
    for index in [
        "finalization_jobs_oldest",
        "finalization_jobs_due",
        "finalization_jobs_leases",
        "finalization_jobs_parked",
    ] {
        assert_uses(&world, "finalization_jobs", index, gauges).await;
    }
}

#[tokio::test]
async fn backlog_uses_partial_indexes_beside_many_dead_letters() {
    let world = World::new().await;
    world.database.seed(&["insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 requires_keys, force_process, admitted_at, created_at, updated_at, dead_code, finished_at) \
             select 'ann', 'j' || n, 'c' || n, 1, 'finalize', 'finalization', 'dead_letter', false, false, at, at, at, \
                 'model_timeout', at from (select n, now() - n * interval '1 minute' as at from generate_series(1, 20000) n) s; \
             insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 requires_keys, force_process, admitted_at, created_at, updated_at, ready_at, reconcile_after_at) \
             select 'bob', 'q' || n, 'c' || n, 1, 'finalize', 'finalization', 'queued', false, false, now(), now(), now(), \
                 now(), now() from generate_series(1, 5000) n; \
             analyze finalization_jobs"]).await;
    for index in [
        "finalization_jobs_due",
        "finalization_jobs_dead",
        "finalization_jobs_leases",
        "finalization_jobs_parked",
    ] {
        assert_uses(&world, "finalization_jobs", index, async |ledger| {
            Operations::new(ledger).backlog().await.unwrap();
        })
        .await;
    }
}

/// 50,000 reminders of which 20 are due, and as many pushes of which 500 are due.
#[tokio::test]
async fn reminders_and_pushes_use_their_indexes() {
    let world = World::new().await;
    world.database.seed(&["insert into push_subscriptions (user_id, subscription_id, kind, url) \
             values ('ann', 's', 'webhook', 'https://example.com'); \
             insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
             select 'ann', 'i' || n, 'Do', now(), now(), timestamptz '2030-01-01' from generate_series(0, 49999) n; \
             insert into reminders (user_id, action_item_id, revision, due_at, fire_at) \
             select 'ann', 'i' || n, 1, timestamptz '2030-01-01', \
                 case when n < 20 then now() - interval '1 minute' when n < 25000 then timestamptz '2030-01-01' end \
             from generate_series(0, 49999) n; \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
                 next_at, created_at, finished_at) \
             select 'ann', 's', 'd' || n, 'i' || n, 'set', timestamptz '2030-01-01', \
                 case when n < 500 then 'pending' else 'delivered' end, \
                 case when n < 500 then now() - interval '1 minute' end, now(), case when n >= 500 then now() end \
             from generate_series(0, 49999) n; \
             analyze"]).await;
    assert_uses(&world, "reminders", "reminders_due", async |ledger| {
        assert_eq!(ledger.outbox().fire_reminders(100).await.unwrap(), 20);
    })
    .await;
    let policy = outbox::PushPolicy::default();
    for index in ["push_deliveries_due", "push_deliveries_sending"] {
        assert_uses(&world, "push_deliveries", index, async |ledger| {
            assert!(ledger.outbox().next_push_in(&policy).await.unwrap().is_some());
        })
        .await;
    }
    assert_uses(&world, "push_deliveries", "push_deliveries_due", async |ledger| {
        assert_eq!(
            ledger
                .outbox()
                .claim_pushes(4, &outbox::PushPolicy::default(), None)
                .await
                .unwrap()
                .claimed
                .len(),
            4
        );
    })
    .await;
}
