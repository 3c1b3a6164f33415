//! Metrics of the backlog, and of the database's health.

use crate::world::World;

#[tokio::test]
async fn backlog_of_an_empty_service_has_every_state_and_code_at_zero() {
    let world = World::new().await;
    let backlog = world.operations().backlog().await.unwrap();
    assert_eq!(backlog.deliveries, [("due", 0), ("later", 0), ("paused", 0), ("sending", 0)]);
    assert_eq!(backlog.dead_letters.len(), job::FailureCode::ALL.len());
    assert!(backlog.dead_letters.iter().all(|(_, count)| *count == 0));
    assert_eq!((backlog.lease_holders, backlog.leases_overdue), (0, 0));
    assert_eq!((backlog.oldest_lease_age, backlog.oldest_parked_age), (0.0, 0.0));
}

#[tokio::test]
async fn gauges_count_living_processes_by_role() {
    let world = World::new().await;
    let processes = async || world.operations().gauges().await.unwrap().processes;
    assert_eq!(processes().await, [("api", 0), ("worker", 0), ("reconciler", 0)]);
    world
        .run(
            "insert into service_processes (process_id, version, roles, dispatch_mode, finalization_slots, creation_slots, \
                 stopping, started_at, seen_at) values \
             ('one', '1', '{api,worker}', 'postgres', 4, 4, false, now(), now()), \
             ('two', '1', '{worker}', 'postgres', 4, 4, false, now(), now()), \
             ('stops', '1', '{api,reconciler}', 'postgres', 4, 4, true, now(), now()), \
             ('died', '1', '{api,reconciler}', 'postgres', 4, 4, false, now(), now() - interval '1 minute')",
        )
        .await;
    assert_eq!(processes().await, [("api", 1), ("worker", 2), ("reconciler", 0)]);
}

#[tokio::test]
async fn backlog_counts_deliveries_by_due_later_paused_and_sending() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, \
                 sending_until, occurred_at) values \
             ('ann', 'w', '1', 'webhook.test', 'pending', now() - interval '1 s', null, now()), \
             ('ann', 'w', '2', 'webhook.test', 'pending', now() - interval '9 s', null, now()), \
             ('ann', 'w', '3', 'webhook.test', 'pending', now() + interval '1 hour', null, now()), \
             ('ann', 'w', '4', 'webhook.test', 'pending', 'infinity', null, now()), \
             ('ann', 'w', '5', 'webhook.test', 'sending', null, now() + interval '1 minute', now())",
        )
        .await;
    let backlog = world.operations().backlog().await.unwrap();
    assert_eq!(backlog.deliveries, [("due", 2), ("later", 1), ("paused", 1), ("sending", 1)]);
}

#[tokio::test]
async fn backlog_counts_leases_parked_jobs_and_unsettled_dead_letters() {
    let world = World::new().await;
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 requires_keys, force_process, admitted_at, created_at, updated_at, lease_worker, lease_claimed_at, \
                 lease_expires_at, lease_ready_at, first_blocked_at, reconcile_after_at, dead_code, finished_at, settled_at) \
             values \
             ('ann', 'l1', 'c1', 1, 'finalize', 'finalization', 'leased', false, false, now() - interval '900 s', now(), \
                 now(), 'one', now() - interval '50 s', now() + interval '9 min', now(), null, now(), null, null, null), \
             ('ann', 'l2', 'c2', 1, 'finalize', 'finalization', 'leased', false, false, now(), now(), now(), \
                 'one', now() - interval '90 s', now() - interval '9 s', now(), null, now(), null, null, null), \
             ('ann', 'p1', 'c3', 1, 'finalize', 'finalization', 'blocked_byok', true, false, now() - interval '300 s', \
                 now(), now(), null, null, null, null, now(), now(), null, null, null), \
             ('ann', 'd1', 'c4', 1, 'finalize', 'finalization', 'dead_letter', false, false, now(), now(), now(), \
                 null, null, null, null, null, null, 'model_timeout', now(), null), \
             ('ann', 'd2', 'c5', 1, 'finalize', 'finalization', 'dead_letter', false, false, now(), now(), now(), \
                 null, null, null, null, null, null, 'model_timeout', now(), now())",
        )
        .await;
    let backlog = world.operations().backlog().await.unwrap();
    let about = |age: f64, seconds: f64| age >= seconds && age < seconds + 30.0;
    assert_eq!((backlog.lease_holders, backlog.leases_overdue), (1, 1));
    assert!(about(backlog.oldest_lease_age, 90.0), "{backlog:?}");
    assert!(about(backlog.oldest_parked_age, 300.0), "{backlog:?}");
    let dead: Vec<_> = backlog.dead_letters.iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(dead, [&("model_timeout", 1)], "the settled one does not count");
}

/// An alert on an age that is hours below zero would come hours late.
#[tokio::test]
async fn age_of_what_was_there_before_the_clock_was_set_back_is_zero() {
    let world = World::new().await;
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 requires_keys, force_process, admitted_at, created_at, updated_at, lease_worker, lease_claimed_at, \
                 lease_expires_at, lease_ready_at, first_blocked_at, reconcile_after_at) \
             select 'ann', status, status, 1, 'finalize', 'finalization', status, status = 'blocked_byok', false, later, \
                 later, later, case when is_leased then 'one' end, case when is_leased then later end, \
                 case when is_leased then later end, case when is_leased then later end, \
                 case when not is_leased then later end, later \
             from (select status, status = 'leased' as is_leased, now() + interval '1 hour' as later \
                   from unnest(array['leased', 'blocked_byok']) status) t",
        )
        .await;
    let (backlog, gauges) =
        (world.operations().backlog().await.unwrap(), world.operations().gauges().await.unwrap());
    assert_eq!((backlog.oldest_lease_age, backlog.oldest_parked_age), (0.0, 0.0));
    assert_eq!((gauges.oldest_nonterminal_age, gauges.oldest_unfinished_age), (0.0, 0.0));
}

#[tokio::test]
async fn backlog_of_a_queue_counts_ready_and_running_jobs_and_is_0_if_paused() {
    let world = World::new().await;
    let backlog = async || world.operations().backlog().await.unwrap().queues;
    assert_eq!(backlog().await, [("finalization", 0), ("creation", 0)]);
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 requires_keys, force_process, admitted_at, created_at, updated_at, ready_at, reconcile_after_at, \
                 lease_worker, lease_claimed_at, lease_expires_at, lease_ready_at, first_blocked_at, dead_code, finished_at) \
             select 'ann', job, 'c' || job, 1, 'finalize', queue, status, false, false, now(), now(), now(), \
                 case when status = 'queued' then now() + in_seconds * interval '1 s' end, \
                 case when status <> 'dead_letter' then now() end, \
                 case when status = 'leased' then 'one' end, case when status = 'leased' then now() end, \
                 case when status = 'leased' then now() + interval '9 s' end, case when status = 'leased' then now() end, \
                 case when status = 'blocked_byok' then now() end, \
                 case when status = 'dead_letter' then 'model_timeout' end, case when status = 'dead_letter' then now() end \
             from (values ('r1', 'finalization', 'queued', -1), ('r2', 'finalization', 'queued', -900), \
                 ('l1', 'finalization', 'leased', 0), ('later', 'finalization', 'queued', 900), \
                 ('parked', 'finalization', 'blocked_byok', 0), ('dead', 'finalization', 'dead_letter', 0), \
                 ('r3', 'creation', 'queued', -1)) scene (job, queue, status, in_seconds)",
        )
        .await;
    assert_eq!(backlog().await, [("finalization", 3), ("creation", 1)]);
    world.run("insert into queue_pauses values ('finalization', 'ada', 'a test', now())").await;
    assert_eq!(backlog().await, [("finalization", 0), ("creation", 1)]);
}

#[tokio::test]
async fn health_reads_tables_sessions_and_sizes() {
    let world = World::new().await;
    let health = world.operations().health("10s").await.unwrap();
    let names: Vec<&str> = health.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names.len(), 7, "every busy table exists: {names:?}");
    let states: Vec<&str> = health.sessions.iter().map(|(state, _)| *state).collect();
    assert_eq!(states, ["active", "waiting", "idle", "idle_in_transaction"]);
    assert!(health.sessions_allowed > 0 && health.bytes > 0 && health.wal_bytes > 0.0, "{health:?}");
}

#[tokio::test]
async fn health_shows_the_oldest_transaction_and_snapshot() {
    let world = World::new().await;
    let mut open = world.pool.begin().await.unwrap();
    sqlx::raw_sql("set transaction isolation level repeatable read; select count(*) from users")
        .execute(&mut *open)
        .await
        .unwrap();
    let before = world.operations().health("10s").await.unwrap();
    world.run("update users set name = 'Ann' where user_id = 'ann'").await;
    let after = world.operations().health("10s").await.unwrap();
    assert!(after.sessions.contains(&("waiting", 0)), "no session waits for a lock: {after:?}");
    assert!(after.oldest_transaction_age > before.oldest_transaction_age, "{before:?} {after:?}");
    assert!(after.oldest_snapshot_age > 0, "the update came after the snapshot: {after:?}");
    // A transaction of the ledger that is just ending may be counted as well.
    let idle = |state: &(&str, i64)| matches!(state, ("idle_in_transaction", 1..));
    assert!(after.sessions.iter().any(idle), "{after:?}");
    assert!(after.wal_bytes > before.wal_bytes);
}
