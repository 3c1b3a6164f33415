//! Rows that an operation reads do not grow with the backlog: each is run over 20,000 rows that it must not read.

use chrono::TimeDelta;
use job::Queue;
use ledger::{Ledger, Settings};
use operations::{JobFilter, Operations, Stepped};
use outbox::{DeliveryPolicy, PushPolicy};

use crate::{
    prepared_plans::reads,
    world::{World, parts, wanted, worker},
};

/// 100 users.
pub(crate) const USERS: &str = "insert into users (user_id) select 'u' || n from generate_series(0, 99) n";

/// A world with these rows, analyzed.
pub(crate) async fn seeded(statements: &[&'static str]) -> World {
    let world = World::new().await;
    world.database.seed(&[statements, &["analyze"]].concat()).await;
    world
}

/// The tables of which `operation` reads more than `most` rows, by scans of tables and indexes together.
pub(crate) async fn tables_read_beyond(
    world: &World,
    most: i64,
    operation: impl AsyncFnOnce(&Ledger),
) -> Vec<String> {
    let before = reads(world).await;
    let options = world.database.options().application_name("measured");
    let process = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    operation(&process).await;
    process.db().close().await;
    world.database.until_nobody_is("measured").await;
    let read = |table: &str, rows: i64| rows - before.get(table).copied().unwrap_or(0);
    let all = reads(world).await;
    let more = all.iter().filter(|(table, rows)| read(table, **rows) > most);
    more.map(|(table, rows)| format!("{table}: {}", read(table, *rows))).collect()
}

/// 20,000 live jobs, a third of each status, none of them due.
const LIVE: &str = "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
        ready_at, lease_worker, lease_claimed_at, lease_expires_at, lease_ready_at, epoch, requires_keys, \
        force_process, admitted_at, first_blocked_at, reconcile_after_at, created_at, updated_at) \
    select 'u' || n % 100, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', status, \
        case when status = 'queued' then at end, case when status = 'leased' then 'w' end, \
        case when status = 'leased' then at end, case when status = 'leased' then at end, \
        case when status = 'leased' then at end, 0, status = 'blocked_byok', false, at, \
        case when status = 'blocked_byok' then at end, \
        at + interval '1 day', at, at \
    from (select n, now() - n * interval '1 second' as at, \
        (array['queued', 'leased', 'blocked_byok'])[1 + n % 3] as status from generate_series(0, 19999) n) s";

#[tokio::test]
async fn claim_behind_locked_jobs_reads_few_rows_of_the_backlog() {
    let world = seeded(&[USERS, LIVE]).await;
    let first = "select from finalization_jobs where status = 'queued' order by ready_at limit 8 for update";
    let _held = world.database.hold_locks(first).await;
    let more = tables_read_beyond(&world, 1_000, async |ledger| {
        let mut claimed = 0;
        for _ in 0..6 {
            claimed += ledger.claim(&wanted(Queue::Finalization, 4)).await.unwrap().claims.len();
        }
        assert!(claimed >= 16, "{claimed}");
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// 20,000 conversations with segments of today.
const OPEN: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
        language, source, status, last_append_at) \
    select 'u' || n % 100, 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'in_progress', now() \
    from generate_series(0, 19999) n";

#[tokio::test]
async fn due_pages_read_no_jobs_that_are_not_due() {
    let world = seeded(&[USERS, LIVE, OPEN]).await;
    let more = tables_read_beyond(&world, 100, async |ledger| {
        for _ in 0..8 {
            assert_eq!(ledger.due_page(None, 100).await.unwrap().found, []);
            assert_eq!(ledger.expired_leases(None, 100).await.unwrap().found, []);
            assert_eq!(ledger.abandoned_page(None, 100).await.unwrap().found, []);
        }
        let found = Operations::new(ledger).examine().await.unwrap();
        assert_eq!((found.without_owners, found.unwatched_leases), (0, 0));
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn model_servers_reads_no_jobs_that_are_due() {
    let world = seeded(&[USERS, LIVE]).await;
    let more = tables_read_beyond(&world, 100, async |ledger| {
        for _ in 0..8 {
            assert_eq!(Operations::new(ledger).model_servers().await.unwrap().waiting, 0);
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn due_page_reads_no_leased_and_no_queued_jobs() {
    const OVERDUE: &str = "update finalization_jobs set reconcile_after_at = now() - interval '1 day' \
        where status <> 'blocked_byok'";
    let world = seeded(&[USERS, LIVE, OVERDUE, "vacuum finalization_jobs"]).await;
    let more = tables_read_beyond(&world, 100, async |ledger| {
        for _ in 0..8 {
            assert_eq!(ledger.due_page(None, 100).await.unwrap().found, []);
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn expired_leases_page_does_not_read_earlier_pages() {
    const DUE: &str = "update finalization_jobs set reconcile_after_at = now() - interval '1 day'";
    let world = seeded(&[USERS, LIVE, DUE, "vacuum finalization_jobs"]).await;
    let more = tables_read_beyond(&world, 6_000, async |ledger| {
        let mut after = None;
        for _ in 0..30 {
            after = ledger.expired_leases(after.as_ref(), 100).await.unwrap().next;
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn run_input_reads_no_items_older_than_two_days() {
    const TASKS: &str = "insert into action_items (user_id, action_item_id, description, created_at, updated_at) \
        select 'ann', 'i' || n, 'Do', now() - interval '3 days', now() from generate_series(0, 19999) n";
    let world = seeded(&[TASKS]).await;
    let job = world.admitted("c").await;
    let generation = world.job(&job).await.generation;
    let more = tables_read_beyond(&world, 100, async |ledger| {
        let (_, claimed) = parts(ledger.claim_delivery(&job, generation, &worker("w")).await.unwrap());
        let input = ledger.run_input(&claimed.unwrap()).await.unwrap().unwrap();
        assert!(input.recent_items.is_empty());
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// 20,000 conversations in `processing` with a live job for an hour, and among them Ann's `lone`, which has no job.
const PROCESSING: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, \
        finished_at, language, source, status) \
    select user_id, conversation_id, at, at, at, at, 'en', 'phone', 'processing' \
    from (select user_id, conversation_id, now() - interval '1 hour' as at from finalization_jobs \
        union all select 'ann', 'lone', now() - interval '59 minutes 59 seconds') c";

#[tokio::test]
async fn sweep_pages_are_bounded_and_find_a_stuck_conversation() {
    let world = seeded(&[USERS, LIVE, PROCESSING]).await;
    let more = tables_read_beyond(&world, 4_000, async |ledger| {
        let mut after = None;
        for _ in 0..8 {
            let page = ledger.sweep_processing(after.as_ref(), 100).await.unwrap();
            assert_eq!(page.found, []);
            after = page.next;
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = world.ledger.sweep_processing(after.as_ref(), 1_000).await.unwrap();
        found.extend(page.found.into_iter().map(|(_, conversation)| conversation.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["lone"]);
}

/// 20,000 unsettled dead letters; behind them, old enough to be pruned, 100 completed jobs.
const FINISHED: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, \
        finished_at, language, source, status) \
    select 'u' || n % 100, 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'failed' from generate_series(0, 19999) n; \
    insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, dead_code, \
        epoch, requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
    select 'u' || n % 100, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', \
        case when n < 20000 then 'dead_letter' else 'completed' end, case when n >= 20000 then 'kept' end, \
        case when n < 20000 then 'internal' end, 0, false, false, at, at, at, at \
    from (select n, now() - interval '99 days' + n * interval '1 minute' as at from generate_series(0, 20099) n) s";

/// The retention of these tests.
const MONTH: std::time::Duration = std::time::Duration::from_secs(30 * 86_400);

#[tokio::test]
async fn prune_reads_no_unsettled_dead_letters() {
    let world = seeded(&[USERS, FINISHED]).await;
    let more = tables_read_beyond(&world, 2_000, async |ledger| {
        let (pruned, ended) = Operations::new(ledger).prune(MONTH, 1_000).await;
        ended.unwrap();
        assert_eq!(pruned.jobs, 100);
        for _ in 0..8 {
            assert_eq!(Operations::new(ledger).prune(MONTH, 1_000).await.0.jobs, 0);
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn requires_byok_marks_10_000_live_jobs_of_one_user_and_no_others() {
    const ONE_USER: &str = "update finalization_jobs set user_id = 'u1' where job_id like 'fj1%'";
    let world = seeded(&[USERS, LIVE, ONE_USER]).await;
    let untouched =
        "select count(*) from finalization_jobs where user_id <> 'u1' and status = 'blocked_byok'";
    let before = world.count(untouched).await;
    let marked = store::UserChange { requires_byok: Some(true), ..Default::default() };
    world.ledger.change_user(&records::UserId::new("u1"), &marked).await.unwrap().unwrap();
    let all = world.count("select count(*) from finalization_jobs where user_id = 'u1'").await;
    let reached = "select count(*) from finalization_jobs where user_id = 'u1' and requires_keys \
        and status in ('leased', 'blocked_byok')";
    assert!(all > 10_000);
    assert_eq!((world.count(reached).await, world.count(untouched).await), (all, before));
}

/// 20,000 dead letters, one a minute; the oldest was replayed a moment ago and died again.
const DEAD: &str = "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
        dead_code, epoch, requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
    select 'u' || n % 100, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', 'dead_letter', 'no_content', 1, false, \
        false, case when n = 20000 then now() else at end, at, at, case when n = 20000 then now() else at end \
    from (select n, now() - n * interval '1 minute' as at from generate_series(1, 20000) n) s";

#[tokio::test]
async fn dead_letter_list_filtered_by_age_reads_no_other_ages() {
    let world = seeded(&[USERS, DEAD]).await;
    let now = world.ledger.db().now().await.unwrap();
    let filter =
        JobFilter { status: Some("dead_letter".into()), unsettled: true, limit: 50, ..Default::default() };
    let young = JobFilter { since: Some(now - TimeDelta::minutes(10)), ..filter.clone() };
    let old = JobFilter { until: Some(now - TimeDelta::days(13)), ..filter };
    let more = tables_read_beyond(&world, 2_000, async |ledger| {
        for _ in 0..8 {
            let found = Operations::new(ledger).jobs_page(&young).await.unwrap().jobs;
            assert_eq!(found.len(), 10, "nine that died since then, and the one that was replayed");
            assert_eq!(young.admitted_at(found.last().unwrap()), found.last().unwrap().job.admitted_at);
            assert_eq!(Operations::new(ledger).jobs_page(&old).await.unwrap().jobs.len(), 50);
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// A bulk replay of 20,000, of which one still waits; a third of the others is parked until users bring keys.
const REPLAY: &str = "insert into replay_operations (operation_id, status, operator, reason, filter, from_scratch, per_minute, \
        in_flight, items, replayed, completed, parked, lease_until, next_at, created_at, updated_at) \
    values ('r', 'running', 'olga', 'why', 'all', false, 600, 16, 20000, 19999, 13333, 6666, now(), now(), now(), now()); \
    insert into replay_items (operation_id, position, user_id, job_id, generation, status) \
    select 'r', n, 'u' || n % 100, 'fj' || n, 1, case when n = 20000 then 'waiting' when n % 3 = 0 then 'parked' \
        else 'completed' end from generate_series(1, 20000) n";

/// Each of 100,000 steps read the whole list, so that a long replay became slower and slower with its length.
#[tokio::test]
async fn bulk_replay_step_does_not_read_the_whole_list() {
    let world = seeded(&[USERS, REPLAY]).await;
    let more = tables_read_beyond(&world, 100, async |ledger| {
        let operations = Operations::new(ledger);
        let due = operations.due_replay("").await.unwrap().unwrap();
        assert_eq!(
            operations.step_replay(&due, "p").await.unwrap(),
            Stepped::Refused,
            "there is no such job"
        );
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// 20,000 due deliveries of one user, older than that of another.
const DELIVERIES: &str = "insert into webhook_endpoints (user_id, endpoint_id, url, events, format, secret) \
    select user_id, 'w', 'https://example.com', '{conversation.completed}', 'full', 's' from users \
    where user_id in ('u5', 'u7'); \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
    select case when n = 20000 then 'u7' else 'u5' end, 'w', 'd' || n, 'conversation.completed', 'pending', \
        now() - interval '1 day' + n * interval '1 second', now() from generate_series(0, 20000) n";

#[tokio::test]
async fn backlog_reads_no_more_deliveries_than_it_counts() {
    let world = seeded(&[USERS, DELIVERIES]).await;
    let more = tables_read_beyond(&world, 11_000, async |ledger| {
        let counted = Operations::new(ledger).backlog().await.unwrap().deliveries;
        assert!(counted.contains(&("due", 10_000)) && counted.contains(&("paused", 0)), "{counted:?}");
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn delivery_behind_another_users_backlog_is_claimed_without_reading_it() {
    let world = seeded(&[USERS, DELIVERIES]).await;
    let more = tables_read_beyond(&world, 10_000, async |ledger| {
        let (mut users, policy) = (Vec::new(), DeliveryPolicy::default());
        for _ in 0..2 {
            let claims = ledger.outbox().claim_deliveries(8, &policy, None).await.unwrap();
            users.extend(claims.claimed.into_iter().map(|claimed| claimed.user_id.to_string()));
        }
        assert_eq!(users, ["u5", "u5", "u5", "u5", "u7"]);
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// 20,000 due pushes of one user, older than that of another.
const PUSHES: &str = "insert into push_subscriptions (user_id, subscription_id, kind, url) \
    select user_id, 's', 'webhook', 'https://example.com' from users where user_id in ('u5', 'u7'); \
    insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
    select user_id, 'i', 'Do', now(), now(), timestamptz '2030-01-01' from push_subscriptions; \
    insert into reminders (user_id, action_item_id, revision, due_at, fire_at) \
    select user_id, 'i', 1, timestamptz '2030-01-01', timestamptz '2030-01-01' from push_subscriptions; \
    insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, next_at, created_at) \
    select case when n = 20000 then 'u7' else 'u5' end, 's', 'd' || n, 'i', 'set', timestamptz '2030-01-01', 'pending', \
        now() - interval '1 day' + n * interval '1 second', now() from generate_series(0, 20000) n";

#[tokio::test]
async fn push_behind_another_users_backlog_is_claimed_without_reading_it() {
    let world = seeded(&[USERS, PUSHES]).await;
    let more = tables_read_beyond(&world, 10_000, async |ledger| {
        let (mut users, policy) = (Vec::new(), PushPolicy::default());
        for _ in 0..2 {
            let claims = ledger.outbox().claim_pushes(8, &policy, None).await.unwrap();
            users.extend(claims.claimed.into_iter().map(|claimed| claimed.user_id.to_string()));
        }
        assert_eq!(users, ["u5", "u5", "u5", "u5", "u7"]);
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}
