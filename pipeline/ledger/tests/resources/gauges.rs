//! Gauges of jobs and deliveries.

use crate::world::World;

#[tokio::test]
async fn gauges_of_an_empty_service_have_all_statuses_and_no_age() {
    let world = World::new().await;
    let gauges = world.operations().gauges().await.unwrap();
    let zeros = ["queued", "leased", "blocked_byok", "completed", "dead_letter"].map(|status| (status, 0));
    assert_eq!(gauges.jobs, zeros);
    let ages = [gauges.oldest_nonterminal_age, gauges.oldest_ready_age, gauges.oldest_pending_delivery_age];
    assert!(ages.iter().all(|age| *age == 0.0));
    assert_eq!(gauges.orphans, 0);
}

/// Users with a failing endpoint, and an event that waits for it.
macro_rules! failing {
    ($users:literal) => {
        concat!(
            "insert into users (user_id) select 'u' || n from generate_series(",
            $users,
            ") n; insert into webhook_endpoints (user_id, endpoint_id, url, events, secret, failing_since) \
                 select 'u' || n, 'e', 'https://a.example', '{}', 's', now() from generate_series(",
            $users,
            ") n; insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
                 select 'u' || n, 'e', 'd', 'webhook.test', 'pending', now(), now() - interval '2 hours' \
                 from generate_series(",
            $users,
            ") n"
        )
    };
}

#[tokio::test]
async fn delivery_age_counts_failing_endpoints_from_five_users_on() {
    let world = World::new().await;
    let age = async || world.operations().gauges().await.unwrap().oldest_pending_delivery_age;
    world.run(failing!("1, 4")).await;
    assert_eq!(age().await, 0.0, "endpoints of four users fail: their own problem");
    world.run(failing!("5, 5")).await;
    assert!(age().await >= 7_200.0, "the endpoints of five users fail");
    world
        .run("update webhook_endpoints set enabled = false, disabled_reason = 'gone' where user_id in ('u4', 'u5')")
        .await;
    world.run("update webhook_deliveries set next_at = 'infinity' where user_id in ('u4', 'u5')").await;
    assert_eq!(age().await, 0.0, "two of the five are disabled, which leaves three");
    world.run("update webhook_endpoints set enabled = true, disabled_reason = null").await;
    world.run("update webhook_endpoints set failing_since = null where user_id > 'u1'").await;
    assert!(age().await >= 7_200.0, "a healthy endpoint waits for its event");
}

#[tokio::test]
async fn gauges_count_live_jobs_from_rows_and_finished_from_totals() {
    let world = World::new().await;
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 ready_at, requires_keys, force_process, admitted_at, first_blocked_at, reconcile_after_at, created_at, \
                 updated_at) values \
             ('ann', 'ready', 'c1', 1, 'finalize', 'finalization', 'queued', now() - interval '1 minute', false, \
                 false, now() - interval '100 s', null, now() + interval '1 hour', now(), now()), \
             ('ann', 'backing_off', 'c2', 1, 'finalize', 'finalization', 'queued', now() + interval '1 hour', false, \
                 false, now() - interval '200 s', null, now() - interval '2 hours', now(), now()), \
             ('ann', 'parked', 'c3', 1, 'finalize', 'finalization', 'blocked_byok', null, true, \
                 false, now() - interval '300 s', now(), now() - interval '2 hours', now(), now()); \
             insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 lease_worker, lease_claimed_at, lease_expires_at, lease_ready_at, requires_keys, force_process, \
                 admitted_at, reconcile_after_at, created_at, updated_at) \
             select 'ann', name, name, 1, 'finalize', 'finalization', 'leased', 'w', now(), now(), now(), false, false, \
                 now(), now() - hours * interval '1 hour', now(), now() \
             from (values ('c5', 2), ('c6', 0)) v (name, hours); \
             insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, \
                 requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) values \
             ('ann', 'done', 'c4', 1, 'finalize', 'finalization', 'completed', 'kept', false, false, \
                 now() - interval '400 s', now(), now(), now()); \
             update finalization_totals set jobs = stripe where status = 'completed'",
        )
        .await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 2).await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
             values ('ann', 'w', 'parked', 'webhook.test', 'pending', 'infinity', now() - interval '1 day'); \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
             values ('ann', 'w', 'delivered', 'webhook.test', 'delivered', now(), now() - interval '2 days')",
        )
        .await;
    let gauges = world.operations().gauges().await.unwrap();
    assert_eq!(
        gauges.jobs,
        [("queued", 2), ("leased", 2), ("blocked_byok", 1), ("completed", 120), ("dead_letter", 0)]
    );
    let about = |age: f64, seconds: f64| age >= seconds && age < seconds + 30.0;
    assert!(about(gauges.oldest_nonterminal_age, 300.0), "{gauges:?}");
    assert!(
        about(gauges.oldest_unfinished_age, 200.0),
        "what backs off counts, what is parked does not: {gauges:?}"
    );
    assert!(about(gauges.oldest_ready_age, 100.0), "{gauges:?}");
    assert!(
        about(gauges.oldest_pending_delivery_age, 60.0),
        "a disabled endpoint's backlog does not count: {gauges:?}"
    );
    assert_eq!(
        gauges.orphans, 2,
        "a lease and a parked job are two hours overdue; what is queued waits for a slot"
    );
}
