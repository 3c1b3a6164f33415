//! Pruning of everything besides jobs: old rows are deleted, rows with the same ids of another user or kind stay, and
//! locked rows are skipped.

use std::time::Duration;

use operations::Pruned;

use crate::{push_isolation::with_pushes, world::World};

const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// One old row of everything that is pruned besides jobs, and young ones that share all but one part of its key.
async fn with_one_old_of_each() -> World {
    let world = with_pushes().await;
    world
        .run(
            "update push_deliveries set status = 'delivered', next_at = null, finished_at = now(); \
             update push_deliveries set finished_at = now() - interval '40 days' \
                 where user_id = 'ann' and subscription_id = 's' and delivery_id = 'd_0'; \
             insert into webhook_endpoints (user_id, endpoint_id, url, events, secret) \
                 values ('ann', 'w', '', '{}', ''), ('ann', 'v', '', '{}', ''), ('bob', 'w', '', '{}', ''); \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
                 select user_id, endpoint_id, 'd_' || n, 'e', 'delivered', now(), now() \
                 from webhook_endpoints, generate_series(0, 1) n; \
             update webhook_deliveries set finished_at = now() - interval '40 days' \
                 where user_id = 'ann' and endpoint_id = 'w' and delivery_id = 'd_0'; \
             insert into operator_actions (user_id, action_id, action, operator, reason, created_at) \
                 values ('ann', 'a', 'replay', 'olga', '', now() - interval '40 days'), \
                     ('ann', 'b', 'replay', 'olga', '', now()), ('bob', 'a', 'replay', 'olga', '', now()); \
             insert into request_keys (user_id, route, request_key, fingerprint, made, created_at, running_until) \
                 select u, r, k, '', '{}', now() - case when (u, r, k) = ('ann', 'r', 'k') then interval '2 days' \
                     else '0' end, now() \
                 from unnest(array['ann', 'bob']) u, unnest(array['r', 's']) r, unnest(array['k', 'l']) k; \
             insert into replay_operations (operation_id, status, operator, reason, filter, from_scratch, per_minute, \
                     in_flight, items, lease_until, next_at, created_at, updated_at, finished_at) \
                 select o, case when ended is null then 'running' else 'done' end, 'olga', '', '', false, 1, 1, 0, now(), \
                     now(), now() - interval '50 days', now(), ended \
                 from (values ('old', now() - interval '40 days'), ('young', now()), ('running', null)) t (o, ended); \
             insert into service_minutes (minute, process_id, lengths) \
                 select now() - age, p, '{}' from unnest(array['p', 'q']) p, \
                     unnest(array[interval '47 hours', interval '49 hours']) age; \
             insert into service_processes (process_id, version, roles, dispatch_mode, finalization_slots, \
                     creation_slots, started_at, seen_at) \
                 select p, '', '{}', '', 1, 1, now(), now() - age \
                 from (values ('p', interval '23 hours'), ('q', interval '25 hours')) t (p, age)",
        )
        .await;
    world
}

/// The number of rows of each kind, and how many of them are old.
async fn left(world: &World) -> Vec<(String, i64, i64)> {
    world.rows("select 'pushes', count(*), count(*) filter (where finished_at < now() - interval '30 days') from push_deliveries \
         union all select 'deliveries', count(*), count(*) filter (where finished_at < now() - interval '30 days') \
             from webhook_deliveries \
         union all select 'actions', count(*), count(*) filter (where created_at < now() - interval '30 days') \
             from operator_actions \
         union all select 'names', count(*), count(*) filter (where created_at < now() - interval '1 day') \
             from request_keys \
         union all select 'replays', count(*), count(*) filter (where finished_at < now() - interval '30 days') \
             from replay_operations \
         union all select 'minutes', count(*), count(*) filter (where minute < now() - interval '2 days') \
             from service_minutes \
         union all select 'processes', count(*), count(*) filter (where seen_at < now() - interval '1 day') \
             from service_processes").await
}

fn rows(rows: [(&str, i64, i64); 7]) -> Vec<(String, i64, i64)> {
    rows.map(|(name, all, old)| (name.to_owned(), all, old)).into()
}

const BEFORE: [(&str, i64, i64); 7] = [
    ("pushes", 6, 1),
    ("deliveries", 6, 1),
    ("actions", 3, 1),
    ("names", 8, 1),
    ("replays", 3, 1),
    ("minutes", 4, 2),
    ("processes", 2, 1),
];

#[tokio::test]
async fn prune_deletes_the_old_row_of_each_kind_only() {
    let world = with_one_old_of_each().await;
    assert_eq!(left(&world).await, rows(BEFORE));
    let pruned = world.prune(MONTH, 100).await;
    assert_eq!(
        pruned,
        Pruned { deliveries: 2, actions: 1, requests: 1, short_lived: 2, ..Pruned::default() }
    );
    let after = BEFORE.map(|(name, all, old)| (name, all - old, 0));
    assert_eq!(left(&world).await, rows(after));
}

#[tokio::test]
async fn prune_batch_of_one_deletes_one_row_of_each_kind() {
    let world = with_one_old_of_each().await;
    world
        .run(
            "update push_deliveries set finished_at = now() - interval '40 days'; \
             update webhook_deliveries set finished_at = now() - interval '40 days'; \
             update operator_actions set created_at = now() - interval '40 days'; \
             update request_keys set created_at = now() - interval '2 days'; \
             update replay_operations set status = 'done', finished_at = now() - interval '40 days'; \
             update service_minutes set minute = minute - interval '2 days'; \
             update service_processes set seen_at = now() - interval '25 hours'",
        )
        .await;
    assert_eq!(left(&world).await, rows(BEFORE.map(|(name, all, _)| (name, all, all))));
    let pruned = world.prune(MONTH, 1).await;
    assert_eq!(
        pruned,
        Pruned { deliveries: 2, actions: 1, requests: 1, short_lived: 1, ..Pruned::default() }
    );
    assert_eq!(left(&world).await, rows(BEFORE.map(|(name, all, _)| (name, all - 1, all - 1))));
}

#[tokio::test]
async fn prune_deletes_one_bulk_replay_at_a_time_oldest_first() {
    let world = World::new().await;
    world
        .run(
            "insert into replay_operations (operation_id, status, operator, reason, filter, from_scratch, per_minute, \
                     in_flight, items, lease_until, next_at, created_at, updated_at, finished_at) \
                 select 'of day ' || day, 'done', 'olga', '', '', false, 1, 1, 0, now(), now(), \
                     now() - make_interval(days => day), now(), now() - make_interval(days => day) \
                 from generate_series(40, 41) day",
        )
        .await;
    for expected in [["of day 40"].as_slice(), &[]] {
        world.prune(MONTH, 100).await;
        let left: Vec<String> = world.list("select operation_id from replay_operations").await;
        assert_eq!(left, expected);
    }
}

#[tokio::test]
async fn prune_skips_locked_rows_of_each_kind() {
    for (held, olds) in [
        ("select from push_deliveries for update", 1),
        ("select from webhook_deliveries for update", 1),
        ("select from operator_actions for update", 1),
        ("select from request_keys for update", 1),
        ("select from replay_operations for update", 1),
        ("select from service_minutes for update", 2),
        ("select from service_processes for update", 1),
    ] {
        let world = with_one_old_of_each().await;
        let mut holder = world.database.hold_locks(held).await;
        world.prune(MONTH, 100).await;
        let old = |left: Vec<(String, i64, i64)>| left.iter().map(|(_, _, old)| old).sum::<i64>();
        assert_eq!(old(left(&world).await), olds, "{held}");
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        world.prune(MONTH, 100).await;
        assert_eq!(old(left(&world).await), 0, "{held}");
    }
}

#[tokio::test]
async fn prune_deletes_old_parked_deliveries_of_disabled_endpoints() {
    let world = World::new().await;
    for (user, endpoint) in [(&world.ann, "w"), (&world.ann, "v"), (&world.bob, "w")] {
        world.endpoint(user, endpoint).await;
        world.pending(user, endpoint, 3).await;
    }
    // Parked deliveries of enabled endpoints, and due ones, are kept.
    world
        .run(
            "update webhook_deliveries set next_at = 'infinity', occurred_at = now() - interval '40 days'; \
             update webhook_endpoints set enabled = false, disabled_reason = 'owner' \
                 where user_id = 'ann' and endpoint_id = 'w'; \
             update webhook_deliveries set next_at = now() where delivery_id = 'w_2'",
        )
        .await;
    let mut holder = world
        .database
        .hold_locks("select from webhook_deliveries where delivery_id = 'w_0' for update")
        .await;
    assert_eq!(world.prune(MONTH, 100).await.deliveries, 1);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(world.prune(MONTH, 100).await.deliveries, 1);
    assert_eq!(world.count("select count(*) from webhook_deliveries").await, 7);
}

#[tokio::test]
async fn prune_continues_after_one_kind_fails() {
    for (table, kept) in [
        ("service_minutes", "minutes"),
        ("replay_operations", "replays"),
        ("webhook_deliveries", "deliveries"),
        ("push_deliveries", "pushes"),
        ("operator_actions", "actions"),
        ("request_keys", "names"),
    ] {
        let world = with_one_old_of_each().await;
        let forbid = format!(
            "create function forbid() returns trigger language plpgsql as 'begin raise exception ''no''; end'; \
             create trigger forbid before delete on {table} for each row execute function forbid()"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(forbid)).execute(&world.pool).await.unwrap();
        let (_, ended) = world.operations().prune(MONTH, 100).await;
        assert!(ended.is_err(), "{table}");
        let old: Vec<_> =
            left(&world).await.into_iter().filter(|(.., old)| *old > 0).map(|(name, ..)| name).collect();
        assert_eq!(old, [kept], "{table}");
    }
}

#[tokio::test]
async fn prune_batch_counts_finished_and_parked_deliveries_together() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 4).await;
    world
        .run(
            "update webhook_deliveries set next_at = 'infinity', occurred_at = now() - interval '40 days'; \
             update webhook_deliveries set status = 'exhausted', next_at = null, finished_at = occurred_at \
                 where delivery_id in ('w_0', 'w_1'); \
             update webhook_endpoints set enabled = false, disabled_reason = 'owner'",
        )
        .await;
    assert_eq!(world.prune(MONTH, 3).await.deliveries, 3);
    assert_eq!(world.prune(MONTH, 3).await.deliveries, 1);
}
