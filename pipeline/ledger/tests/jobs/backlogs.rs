//! What a look reads does not grow with what merely waits. A backlog is when everything else is slow already.

use chrono::TimeDelta;
use job::Queue;
use ledger::{Ledger, Settings};
use operations::{JobFilter, Operations};

use crate::{
    grown::reads,
    world::{World, parts, wanted, worker},
};

/// 100 people.
pub(crate) const PEOPLE: &str = "insert into users (user_id) select 'u' || n from generate_series(0, 99) n";

/// A world with these rows, which the planner knows of.
pub(crate) async fn seeded(statements: &[&'static str]) -> World {
    let world = World::new().await;
    world.database.seed(&[statements, &["analyze"]].concat()).await;
    world
}

/// Of which tables a process that only does this reads more than `most` rows, by their indexes and without.
pub(crate) async fn reading_more_than(
    world: &World,
    most: i64,
    verb: impl AsyncFnOnce(&Ledger),
) -> Vec<String> {
    let before = reads(world).await;
    let options = world.database.options().application_name("verb");
    let process = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    verb(&process).await;
    process.db().close().await;
    world.database.until_nobody_is("verb").await;
    let read = |table: &str, rows: i64| rows - before.get(table).copied().unwrap_or(0);
    let all = reads(world).await;
    let more = all.iter().filter(|(table, rows)| read(table, **rows) > most);
    more.map(|(table, rows)| format!("{table}: {}", read(table, *rows))).collect()
}

/// 20,000 live jobs, of each status a third, of none of which the moment has come.
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
async fn a_claim_behind_locked_jobs_reads_few_of_the_thousands_that_wait() {
    let world = seeded(&[PEOPLE, LIVE]).await;
    let first = "select from finalization_jobs where status = 'queued' order by ready_at limit 8 for update";
    let _held = world.database.hold_locks(first).await;
    let more = reading_more_than(&world, 1_000, async |ledger| {
        let mut claimed = 0;
        for _ in 0..6 {
            claimed += ledger.claim(&wanted(Queue::Finalization, 4)).await.unwrap().claims.len();
        }
        assert!(claimed >= 16, "{claimed}");
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// As many conversations that were written to today.
const OPEN: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
        language, source, status, last_append_at) \
    select 'u' || n % 100, 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'in_progress', now() \
    from generate_series(0, 19999) n";

#[tokio::test]
async fn looks_at_what_is_due_read_nothing_of_20_000_jobs_that_are_not() {
    let world = seeded(&[PEOPLE, LIVE, OPEN]).await;
    let more = reading_more_than(&world, 100, async |ledger| {
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
async fn the_page_of_due_jobs_reads_no_leases_and_no_queued_jobs() {
    const OVERDUE: &str = "update finalization_jobs set reconcile_after_at = now() - interval '1 day' \
        where status <> 'blocked_byok'";
    let world = seeded(&[PEOPLE, LIVE, OVERDUE, "vacuum finalization_jobs"]).await;
    let more = reading_more_than(&world, 100, async |ledger| {
        for _ in 0..8 {
            assert_eq!(ledger.due_page(None, 100).await.unwrap().found, []);
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn a_page_of_expired_leases_reads_no_page_before_it() {
    const DUE: &str = "update finalization_jobs set reconcile_after_at = now() - interval '1 day'";
    let world = seeded(&[PEOPLE, LIVE, DUE, "vacuum finalization_jobs"]).await;
    let more = reading_more_than(&world, 6_000, async |ledger| {
        let mut after = None;
        for _ in 0..30 {
            after = ledger.expired_leases(after.as_ref(), 100).await.unwrap().next;
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_reads_nothing_of_20_000_tasks_that_are_older_than_two_days() {
    const TASKS: &str = "insert into action_items (user_id, action_item_id, description, created_at, updated_at) \
        select 'ann', 'i' || n, 'Do', now() - interval '3 days', now() from generate_series(0, 19999) n";
    let world = seeded(&[TASKS]).await;
    let job = world.admitted("talk").await;
    let generation = world.job(&job).await.generation;
    let more = reading_more_than(&world, 100, async |ledger| {
        let (_, claimed) = parts(ledger.claim_delivery(&job, generation, &worker("w")).await.unwrap());
        let input = ledger.run_input(&claimed.unwrap()).await.unwrap().unwrap();
        assert!(input.recent_items.is_empty());
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
}

/// 20,000 conversations that have waited for their jobs for an hour, and `lone`, of ann, which has none, among them.
const PROCESSING: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, \
        finished_at, language, source, status) \
    select user_id, conversation_id, at, at, at, at, 'en', 'phone', 'processing' \
    from (select user_id, conversation_id, now() - interval '1 hour' as at from finalization_jobs \
        union all select 'ann', 'lone', now() - interval '59 minutes 59 seconds') c";

#[tokio::test]
async fn a_page_of_the_sweep_is_bounded_and_all_pages_find_the_one_that_is_stuck() {
    let world = seeded(&[PEOPLE, LIVE, PROCESSING]).await;
    let more = reading_more_than(&world, 4_000, async |ledger| {
        let mut after = None;
        for _ in 0..8 {
            let walked = ledger.sweep_processing(after.as_ref(), 100).await.unwrap();
            assert_eq!(walked.found, []);
            after = walked.next;
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let walked = world.ledger.sweep_processing(after.as_ref(), 1_000).await.unwrap();
        found.extend(walked.found.into_iter().map(|swept| swept.conversation_id.to_string()));
        after = walked.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["lone"]);
}

/// 20,000 unsettled dead letters, and behind them, but old enough, 100 jobs that are done and a dead letter
/// whose conversation is gone.
const FINISHED: &str = "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, \
        finished_at, language, source, status) \
    select 'u' || n % 100, 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'failed' from generate_series(0, 19999) n; \
    insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, dead_code, \
        epoch, requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
    select 'u' || n % 100, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', \
        case when n < 20000 or n = 20100 then 'dead_letter' else 'completed' end, \
        case when n between 20000 and 20099 then 'kept' end, \
        case when n < 20000 or n = 20100 then 'internal' end, 0, false, false, at, at, at, at \
    from (select n, now() - interval '99 days' + n * interval '1 minute' as at from generate_series(0, 20100) n) s";

/// The retention of these tests.
const MONTH: std::time::Duration = std::time::Duration::from_secs(30 * 86_400);

#[tokio::test]
async fn pruning_reads_nothing_of_20_000_dead_letters_that_must_stay() {
    let world = seeded(&[PEOPLE, FINISHED]).await;
    let more = reading_more_than(&world, 2_000, async |ledger| {
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
async fn a_page_of_dead_letters_is_bounded_and_all_pages_find_the_one_whose_conversation_is_gone() {
    let world = seeded(&[PEOPLE, FINISHED]).await;
    let more = reading_more_than(&world, 4_000, async |ledger| {
        let mut after = None;
        for _ in 0..8 {
            let walked =
                Operations::new(ledger).prune_dead_letters(MONTH, after.as_ref(), 100).await.unwrap();
            assert_eq!(walked.found, 0);
            after = walked.next;
        }
    })
    .await;
    assert_eq!(more, Vec::<String>::new());
    let (mut after, mut found) = (None, 0);
    loop {
        let walked = world.operations().prune_dead_letters(MONTH, after.as_ref(), 1_000).await.unwrap();
        found += walked.found;
        after = walked.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, 1);
    assert_eq!(world.count("select count(*) from finalization_jobs where job_id = 'fj20100'").await, 0);
}

#[tokio::test]
async fn a_mark_reaches_each_of_more_live_jobs_than_are_stored_at_once_and_no_other() {
    const ONE_PERSON: &str = "update finalization_jobs set user_id = 'u1' where job_id like 'fj1%'";
    let world = seeded(&[PEOPLE, LIVE, ONE_PERSON]).await;
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

/// 20,000 dead letters, one a minute, of which the oldest was replayed a moment ago and is dead again.
const DEAD: &str = "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
        dead_code, epoch, requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
    select 'u' || n % 100, 'fj' || n, 'c' || n, 1, 'finalize', 'finalization', 'dead_letter', 'no_content', 1, false, \
        false, case when n = 20000 then now() else at end, at, at, case when n = 20000 then now() else at end \
    from (select n, now() - n * interval '1 minute' as at from generate_series(1, 20000) n) s";

#[tokio::test]
async fn a_list_of_dead_letters_of_an_age_reads_none_of_another() {
    let world = seeded(&[PEOPLE, DEAD]).await;
    let now = world.ledger.db().now().await.unwrap();
    let filter =
        JobFilter { status: Some("dead_letter".into()), unsettled: true, limit: 50, ..Default::default() };
    let young = JobFilter { since: Some(now - TimeDelta::minutes(10)), ..filter.clone() };
    let old = JobFilter { until: Some(now - TimeDelta::days(13)), ..filter };
    let more = reading_more_than(&world, 2_000, async |ledger| {
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
