//! A backlog that the planner's statistics do not know of: after an outage 20,000 jobs wait that were not there when the
//! tables were last analyzed. Every operation must find its rows as if it knew; plans that take each partial index for an
//! empty one read the whole backlog for each job.

use job::Queue;
use ledger::ClaimRequest;
use outbox::PushPolicy;

use crate::{
    backlog_rows_read::tables_read_beyond,
    prepared_plans::run_every_operation,
    world::{World, wanted},
};

/// 50,000 finished conversations and deliveries of 500 users, and nothing that waits: so the tables are analyzed.
const QUIET: &str = "insert into users (user_id) select 'u' || n from generate_series(0, 499) n; \
    insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, source, \
        status, finalization_revision) \
    select 'u' || n % 500, 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'completed', 1 \
    from generate_series(0, 49999) n; \
    insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, \
        requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
    select 'u' || n % 500, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', 'completed', 'kept', false, false, at, at, at, at \
    from (select n, now() - n * interval '1 minute' as at from generate_series(0, 49999) n) s; \
    insert into webhook_endpoints (user_id, endpoint_id, url, events, format, secret) \
    select user_id, 'w', 'https://example.com', '{conversation.completed}', 'full', 's' from users where user_id <> 'ann'; \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
    select 'u' || n % 500, 'w', 'd' || n, 'conversation.completed', 'delivered', now(), now() from generate_series(0, 49999) n";

/// 20,000 jobs of 500 users that are due, 1,000 whose lease expired, 1,000 that wait for keys, 5,000 dead letters, and 20,000
/// deliveries that are due.
const BACKLOG: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
        language, source, status, finalization_revision) \
    select 'u' || n % 500, 'b' || n, now(), now(), now(), now(), 'en', 'phone', 'processing', 1 from generate_series(0, 26999) n; \
    insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, ready_at, \
        lease_worker, lease_claimed_at, lease_expires_at, lease_ready_at, epoch, requires_keys, first_blocked_at, dead_code, \
        force_process, admitted_at, reconcile_after_at, created_at, updated_at, finished_at) \
    select 'u' || n % 500, 'fj_b' || n, 'b' || n, 1, 'finalize', 'finalization', status, \
        case when status = 'queued' then at end, case when status = 'leased' then 'w' end, \
        case when status = 'leased' then at end, case when status = 'leased' then at end, \
        case when status = 'leased' then at end, 0, status = 'blocked_byok', \
        case when status = 'blocked_byok' then at end, case when status = 'dead_letter' then 'internal' end, false, at, \
        case when status <> 'dead_letter' then at end, at, at, case when status = 'dead_letter' then at end \
    from (select n, now() - n * interval '1 second' as at, case when n < 20000 then 'queued' when n < 21000 then 'leased' \
        when n < 22000 then 'blocked_byok' else 'dead_letter' end as status from generate_series(0, 26999) n) s; \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
    select 'u' || n % 500, 'w', 'p' || n, 'conversation.completed', 'pending', now(), now() from generate_series(0, 19999) n";

#[tokio::test]
async fn operations_read_no_backlog_that_statistics_do_not_know() {
    let world = World::new().await;
    const FROZEN: &str = "alter table finalization_jobs set (autovacuum_enabled = false); \
        alter table conversations set (autovacuum_enabled = false); \
        alter table webhook_deliveries set (autovacuum_enabled = false)";
    world.database.seed(&[FROZEN, QUIET]).await;
    world.run("vacuum analyze").await;
    world.database.seed(&[BACKLOG]).await;
    let many = tables_read_beyond(&world, 20_000, async |ledger| {
        // Often enough for plans that are kept.
        for round in 0..8 {
            run_every_operation(&world, ledger, &format!("r{round}")).await;
            let others = ClaimRequest { share: 0, ..wanted(Queue::Finalization, 2) };
            assert_eq!(ledger.claim(&others).await.unwrap().claims.len(), 2);
        }
    })
    .await;
    assert_eq!(many, Vec::<String>::new());
}

/// 50,000 delivered pushes of two users, whose ids are as long as those of real ones: an index of them has more levels than one of times.
const PUSHED: &str = "insert into users (user_id) select 'u' || lpad(n::text, 35, '0') from generate_series(5, 6) n; \
    insert into push_subscriptions (user_id, subscription_id, kind, url) \
    select user_id, user_id, 'webhook', 'https://example.com' from users where user_id like 'u0%'; \
    insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
    select user_id, 'i', 'Do', now(), now(), timestamptz '2030-01-01' from push_subscriptions; \
    insert into reminders (user_id, action_item_id, revision, due_at, fire_at) \
    select user_id, 'i', 1, timestamptz '2030-01-01', timestamptz '2030-01-01' from push_subscriptions; \
    insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, finished_at, created_at) \
    select user_id, user_id, 'd' || n, 'i', 'set', timestamptz '2030-01-01', 'delivered', now(), now() \
    from push_subscriptions, generate_series(1, 25000) n";

/// 20,000 due pushes of the one, older than that of the other.
const PUSHES: &str = "insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, next_at, created_at) \
    select id, id, 'p' || n, 'i', 'set', timestamptz '2030-01-01', 'pending', now() - interval '1 day' + n * interval '1 second', now() \
    from (select n, 'u' || lpad(case when n = 20000 then '6' else '5' end, 35, '0') as id from generate_series(0, 20000) n) s";

#[tokio::test]
async fn claim_of_pushes_reads_no_backlog_that_statistics_do_not_know() {
    let world = World::new().await;
    const FROZEN: &str = "alter table push_deliveries set (autovacuum_enabled = false)";
    world.database.seed(&[FROZEN, PUSHED]).await;
    world.run("vacuum analyze").await;
    world.database.seed(&[PUSHES]).await;
    let many = tables_read_beyond(&world, 10_000, async |ledger| {
        let (mut users, policy) = (Vec::new(), PushPolicy::default());
        for _ in 0..2 {
            let claims = ledger.outbox().claim_pushes(8, &policy, None).await.unwrap();
            users.extend(claims.claimed.into_iter().map(|claimed| claimed.user_id.as_str().ends_with('6')));
        }
        assert_eq!(users, [false, false, false, false, true], "the other user has a turn");
    })
    .await;
    assert_eq!(many, Vec::<String>::new());
}
