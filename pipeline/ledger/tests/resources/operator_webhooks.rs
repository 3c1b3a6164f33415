//! What operators see and repair of webhooks: one endpoint at a time, and never against its owner's setting.

use operations::{ActionFilter, Enabled};
use outbox::{DeliveryOutcome, DeliveryPolicy};
use records::{Timestamp, UserId};

use crate::{
    webhook_isolation::changes_only_own,
    world::{World, olga},
};

/// Ann's `w` and `v` and Bob's `w`, disabled for failing; each has deliveries with the same ids: given up an hour ago
/// and nine days ago, cancelled, delivered, and parked.
async fn with_failing_endpoints() -> World {
    let world = World::new().await;
    world.endpoints_with_equal_ids().await;
    world
        .run(
            "update webhook_endpoints set enabled = false, disabled_reason = 'failing', failing_since = now(), \
                 consecutive_failures = 9; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, tries, \
                     finished_at, occurred_at) \
                 select user_id, endpoint_id, d, 'conversation.completed', status, \
                     case when status = 'pending' then 'infinity'::timestamptz end, 11, \
                     case when status <> 'pending' then now() - ago end, now() - ago \
                 from webhook_endpoints, (values ('lost', 'exhausted', interval '1 hour'), \
                     ('old', 'exhausted', '9 days'), ('cancelled', 'cancelled', '1 hour'), \
                     ('got', 'delivered', '1 hour'), ('waits', 'pending', '1 hour')) t (d, status, ago) \
                 order by user_id desc, endpoint_id, d",
        )
        .await;
    world
}

/// The endpoint `w` and all of its deliveries.
const ALL_OF_W: &str = "t ->> 'endpoint_id' = 'w'";

async fn yesterday(world: &World) -> Timestamp {
    world.ledger.db().now().await.unwrap() - chrono::TimeDelta::days(1)
}

async fn recover(world: &World, limit: i64) -> Option<u64> {
    let (since, now) = (yesterday(world).await, world.ledger.db().now().await.unwrap());
    world.operations().recover_deliveries(&world.ann, "w", since, now, limit, &olga()).await.unwrap()
}

async fn recorded(world: &World) -> Vec<String> {
    let all = ActionFilter { limit: 9, ..ActionFilter::default() };
    world.operations().actions(&all).await.unwrap().into_iter().map(|action| action.action).collect()
}

/// Ann's deliveries at `w` that are parked, or due.
async fn of_w(world: &World, which: &str) -> Vec<String> {
    sqlx::query_scalar(
        "select delivery_id from webhook_deliveries where user_id = 'ann' and endpoint_id = 'w' \
             and case $1 when 'parked' then next_at = 'infinity' else next_at <= now() end order by 1",
    )
    .bind(which)
    .fetch_all(&world.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn recover_deliveries_changes_one_endpoint_since_a_time_only() {
    let world = with_failing_endpoints().await;
    assert_eq!(changes_only_own(&world, ALL_OF_W, recover(&world, 9)).await, Some(2));
    assert_eq!(of_w(&world, "parked").await, ["cancelled", "lost", "waits"], "it is disabled");
    assert_eq!(recover(&world, 9).await, Some(0));
    assert_eq!(recorded(&world).await, ["recover_webhook"], "a recovery of nothing is not recorded");
    let (since, now) = (yesterday(&world).await, world.ledger.db().now().await.unwrap());
    for (user, endpoint) in [(&world.ann, "nothing"), (&world.bob, "v")] {
        let none =
            world.operations().recover_deliveries(user, endpoint, since, now, 9, &olga()).await.unwrap();
        assert_eq!(none, None);
    }
    let world = with_failing_endpoints().await;
    world
        .run(
            "update webhook_endpoints set enabled = true, disabled_reason = null where user_id = 'ann' and endpoint_id = 'w'",
        )
        .await;
    assert_eq!(recover(&world, 9).await, Some(2));
    assert_eq!(of_w(&world, "due").await, ["cancelled", "lost"]);
}

/// As in the runbook after a 410: enable the endpoint, and recover what was cancelled.
#[tokio::test]
async fn recover_after_410_leaves_out_deleted_conversations() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.conversation(&world.ann, "there", "completed", 0).await;
    world.conversation(&world.bob, "nowhere", "completed", 0).await;
    world.pending(&world.ann, "w", 2).await;
    world.run("update webhook_deliveries set conversation_id = 'there'").await;
    let claimed = world.claim_deliveries(1).await.remove(0);
    world
        .ledger
        .outbox()
        .finish_delivery(&claimed, DeliveryOutcome::Gone, &DeliveryPolicy::default())
        .await
        .unwrap();
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, conversation_id, status, \
                 finished_at, occurred_at) \
             select 'ann', 'w', status, 'conversation.completed', 'nowhere', status, now(), now() \
             from (values ('cancelled'), ('exhausted')) d (status)",
        )
        .await;
    world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap();
    assert_eq!(recover(&world, 9).await, Some(2));
    let still = "select count(*) from webhook_deliveries where finished_at is not null and conversation_id = 'nowhere'";
    assert_eq!(world.count(still).await, 2);
}

#[tokio::test]
async fn recover_deliveries_keeps_to_its_limit() {
    let world = with_failing_endpoints().await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, tries, finished_at, \
                 occurred_at) \
             select 'ann', 'w', 'lost' || n, 'conversation.completed', 'exhausted', 11, \
                 now() - interval '1 hour', now() - interval '2 hours' from generate_series(1, 3) n",
        )
        .await;
    for _ in 0..5 {
        assert_eq!(recover(&world, 1).await, Some(1));
    }
    assert_eq!(recover(&world, 1).await, Some(0));
}

#[tokio::test]
async fn recover_deliveries_of_two_users_do_not_mix() {
    for ann_first in [true, false] {
        let world = with_failing_endpoints().await;
        let (one, other) = if ann_first { (&world.ann, &world.bob) } else { (&world.bob, &world.ann) };
        let (since, now) = (yesterday(&world).await, world.ledger.db().now().await.unwrap());
        for user in [one, other] {
            let recovered =
                world.operations().recover_deliveries(user, "w", since, now, 9, &olga()).await.unwrap();
            assert_eq!(recovered, Some(2));
        }
    }
}

#[tokio::test]
async fn test_delivery_returns_the_row_of_its_own_endpoint() {
    for (first, first_at, second, second_at) in [
        ("ann", "w", "bob", "w"),
        ("bob", "w", "ann", "w"),
        ("ann", "v", "ann", "w"),
        ("ann", "w", "ann", "v"),
    ] {
        let world = with_failing_endpoints().await;
        world.run("update webhook_endpoints set enabled = true, disabled_reason = null").await;
        let send = async |user: &str, endpoint: &str, id: &str| {
            world.ledger.outbox().test_delivery(&UserId::new(user), endpoint, id).await.unwrap().unwrap()
        };
        send(first, first_at, "t").await;
        world
            .run(
                "update webhook_deliveries set status = 'exhausted', next_at = null, finished_at = now(), tries = 11 \
                 where delivery_id = 't'",
            )
            .await;
        let new = send(second, second_at, "t").await;
        assert_eq!((new.id.as_str(), new.tries), ("t", 0), "the other endpoint's is another one");
        let other = send(second, second_at, "u").await;
        assert_eq!(other.id, "u");
    }
}

#[tokio::test]
async fn deliveries_lists_those_of_its_endpoint_only() {
    let world = with_failing_endpoints().await;
    world.run("delete from webhook_deliveries where endpoint_id = 'v' and delivery_id = 'got'").await;
    world.run("delete from webhook_deliveries where user_id = 'bob' and delivery_id in ('got', 'old')").await;
    for (user, endpoint, many) in [(&world.ann, "w", 5), (&world.ann, "v", 4), (&world.bob, "w", 3)] {
        let shown =
            world.ledger.outbox().deliveries(user, endpoint, &outbox::DeliveryPage::first(99)).await.unwrap();
        assert_eq!(shown.len(), many);
    }
}

#[tokio::test]
async fn operator_recover_leaves_deliveries_claimed_meanwhile() {
    let world = with_failing_endpoints().await;
    let taken = "update webhook_deliveries set status = 'sending', epoch = 1, finished_at = null, \
        sending_until = now() + interval '1 minute' where delivery_id in ('lost', 'cancelled')";
    let since = yesterday(&world).await;
    let now = world.ledger.db().now().await.unwrap();
    let operation = async {
        world.operations().recover_deliveries(&world.ann, "w", since, now, 9, &olga()).await.unwrap()
    };
    let done = world.database.overtaken_by(taken, operation).await;
    assert_eq!(done, Some(0));
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'sending'").await, 6);
}

#[tokio::test]
async fn owner_recover_leaves_deliveries_claimed_meanwhile() {
    let world = with_failing_endpoints().await;
    let taken = "update webhook_deliveries set status = 'sending', epoch = 1, finished_at = null, \
        sending_until = now() + interval '1 minute' where delivery_id in ('lost', 'cancelled')";
    let since = yesterday(&world).await;
    let operation = async { world.recover(&world.ann, "w", since).await };
    let done = world.database.overtaken_by(taken, operation).await;
    assert_eq!(done, Some(0));
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'sending'").await, 6);
}

#[tokio::test]
async fn recover_makes_deliveries_due_when_the_endpoint_was_enabled_meanwhile() {
    let world = with_failing_endpoints().await;
    let on = "update webhook_endpoints set enabled = true, disabled_reason = null";
    let since = yesterday(&world).await;
    let now = world.ledger.db().now().await.unwrap();
    let operation = async {
        world.operations().recover_deliveries(&world.ann, "w", since, now, 9, &olga()).await.unwrap()
    };
    let done = world.database.overtaken_by(on, operation).await;
    assert_eq!(done, Some(2));
    assert_eq!(of_w(&world, "due").await, ["cancelled", "lost"]);
}

#[tokio::test]
async fn enable_endpoint_wakes_its_own_deliveries_only() {
    let world = with_failing_endpoints().await;
    let enable = async || world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap();
    assert_eq!(changes_only_own(&world, ALL_OF_W, enable()).await, Some(Enabled::Enabled));
    assert_eq!(of_w(&world, "due").await, ["waits"]);
    assert_eq!(enable().await, Some(Enabled::Already));
    assert_eq!(world.operations().enable_endpoint(&world.bob, "v", &olga()).await.unwrap(), None);
    assert_eq!(world.operations().enable_endpoint(&world.ann, "nothing", &olga()).await.unwrap(), None);
    assert_eq!(recorded(&world).await, ["enable_webhook"]);
}

#[tokio::test]
async fn enable_endpoint_is_refused_when_the_owner_disabled_it() {
    let world = with_failing_endpoints().await;
    let off = "update webhook_endpoints set disabled_reason = 'by_owner' where user_id = 'ann' and endpoint_id = 'w'";
    let operation = async { world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap() };
    let done = world.database.overtaken_by(off, operation).await;
    assert_eq!(done, Some(Enabled::ByOwner));
    assert_eq!(
        world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap(),
        Some(Enabled::ByOwner)
    );
    assert_eq!(world.count("select count(*) from webhook_endpoints where enabled").await, 0);
    assert_eq!(of_w(&world, "parked").await, ["waits"]);
    assert!(recorded(&world).await.is_empty());
}

#[tokio::test]
async fn endpoint_views_count_waiting_deliveries() {
    let world = with_failing_endpoints().await;
    world
        .run(
            "delete from webhook_deliveries where user_id = 'bob' and delivery_id = 'waits'; \
             update webhook_deliveries set status = 'sending', sending_until = now() \
                 where endpoint_id = 'v' and delivery_id = 'waits'; \
             insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
                 values ('ann', 'v', 'also', 'e', 'pending', now(), now())",
        )
        .await;
    let shown = async |user, endpoint| {
        let views = world.operations().endpoint_views(user, endpoint, 9).await.unwrap().into_iter();
        let mut shown: Vec<_> =
            views.map(|view| (view.user_id, view.endpoint_id, view.enabled, view.waiting)).collect();
        shown.sort();
        shown
    };
    let row = |user: &str, endpoint: &str, waiting| (user.to_owned(), endpoint.to_owned(), false, waiting);
    assert_eq!(shown(None, None).await, [row("ann", "v", 2), row("ann", "w", 1), row("bob", "w", 0)]);
    assert_eq!(shown(Some(&world.ann), None).await, [row("ann", "v", 2), row("ann", "w", 1)]);
    assert_eq!(shown(Some(&world.ann), Some("w")).await, [row("ann", "w", 1)]);
    world
        .run("update webhook_endpoints set enabled = true, disabled_reason = null, failing_since = null")
        .await;
    assert_eq!(shown(None, None).await, []);
    assert_eq!(shown(Some(&world.bob), None).await, [("bob".to_owned(), "w".to_owned(), true, 0)]);
}

#[tokio::test]
async fn endpoint_views_leave_out_those_disabled_by_their_owner() {
    let world = with_failing_endpoints().await;
    world
        .run(
            "update webhook_endpoints set disabled_reason = 'by_owner', updated_at = now() + interval '1 minute' \
             where user_id = 'ann'",
        )
        .await;
    let views = world.operations().endpoint_views(None, None, 1).await.unwrap();
    let shown: Vec<&str> = views.iter().map(|view| view.user_id.as_str()).collect();
    assert_eq!(shown, ["bob"]);
    assert_eq!(
        world.operations().endpoint_views(Some(&world.ann), None, 9).await.unwrap().len(),
        2,
        "all endpoints of one user are shown"
    );
}

#[tokio::test]
async fn given_up_deliveries_are_paged_newest_first() {
    let world = with_failing_endpoints().await;
    world
        .run(
            "update webhook_deliveries set finished_at = finished_at - interval '1 minute' where endpoint_id = 'v'; \
             update webhook_deliveries set finished_at = finished_at - interval '2 minutes' where user_id = 'bob'",
        )
        .await;
    let listed = async |user| {
        let (mut before, mut listed) = (None, Vec::new());
        loop {
            let page = world.operations().given_up_deliveries(user, before.clone(), 2).await.unwrap();
            let Some(last) = page.last() else { return listed };
            before = Some((last.finished_at, last.delivery_id.clone()));
            listed.extend(
                page.into_iter().map(|line| [line.user_id, line.endpoint_id, line.delivery_id].join(" ")),
            );
        }
    };
    let newest_first = ["ann w lost", "ann v lost", "bob w lost", "ann w old", "ann v old", "bob w old"];
    assert_eq!(listed(None).await, newest_first);
    assert_eq!(listed(Some(&world.bob)).await, ["bob w lost", "bob w old"]);
}

#[tokio::test]
async fn recover_deliveries_leaves_out_failures_after_its_start() {
    let world = with_failing_endpoints().await;
    let (since, begun) = (yesterday(&world).await, world.ledger.db().now().await.unwrap());
    world
        .run("update webhook_deliveries set finished_at = now() where delivery_id in ('lost', 'cancelled')")
        .await;
    let again =
        world.operations().recover_deliveries(&world.ann, "w", since, begun, 9, &olga()).await.unwrap();
    assert_eq!(again, Some(0));
}

#[tokio::test]
async fn endpoint_that_answers_slowly_is_named_although_nothing_fails() {
    let world = World::new().await;
    for (user, id, ms) in [(&world.ann, "slow", 4_000), (&world.ann, "fast", 90), (&world.bob, "off", 9_000)]
    {
        world.endpoint(user, id).await;
        world.pending(user, id, 3).await;
        world
            .database
            .run(&format!(
                "update webhook_deliveries set status = 'delivered', next_at = null, finished_at = now(), tries = 2, \
                     history = '[{{\"try\": 1, \"at\": \"2026-11-21T09:00:02Z\", \"error\": \"timeout\", \"ms\": 15000}}, \
                                 {{\"try\": 2, \"at\": \"2026-11-21T09:00:09Z\", \"status\": 200, \"ms\": {ms}}}]' \
                 where endpoint_id = '{id}'"
            ))
            .await;
    }
    world
        .run("update webhook_endpoints set enabled = false, disabled_reason = 'by_owner' where endpoint_id = 'off'")
        .await;
    // A backlog that was not tried yet hides nothing.
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
                 select user_id, endpoint_id, 'more_' || n, 'e', 'pending', now(), now() \
                 from webhook_endpoints, generate_series(1, 30) n",
        )
        .await;
    world.endpoint(&world.ann, "new").await;
    let shown = async |user, endpoint| {
        let views = world.operations().endpoint_views(user, endpoint, 9).await.unwrap().into_iter();
        let mut shown: Vec<_> = views.map(|view| (view.is_slow(), view.endpoint_id, view.try_ms)).collect();
        shown.sort();
        shown
    };
    let row = |is_slow, id: &str, ms| (is_slow, id.to_owned(), ms);
    assert_eq!(shown(None, None).await, [row(true, "slow", Some(4_000))]);
    assert_eq!(shown(None, Some("fast")).await, []);
    let of_ann = [row(false, "fast", Some(90)), row(false, "new", None), row(true, "slow", Some(4_000))];
    assert_eq!(shown(Some(&world.ann), None).await, of_ann);
    assert_eq!(shown(Some(&world.bob), None).await, [row(false, "off", Some(9_000))]);
}

#[tokio::test]
async fn try_is_recorded_with_its_time() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 1).await;
    let mut claimed = world.claim_deliveries(1).await.remove(0);
    claimed.now -= chrono::TimeDelta::seconds(3);
    let (policy, delivered) = (DeliveryPolicy::default(), DeliveryOutcome::Delivered { status: 200 });
    assert!(world.ledger.outbox().finish_delivery(&claimed, delivered, &policy).await.unwrap());
    let view = world.operations().endpoint_views(None, None, 9).await.unwrap().remove(0);
    assert!(view.is_slow() && view.try_ms.unwrap() >= 3_000, "{view:?}");
}

/// After a roll-back: the operator's `listen webhooks enable` failed.
#[tokio::test]
async fn operator_enables_an_endpoint_whose_events_only_a_newer_version_knows() {
    let world = with_failing_endpoints().await;
    world.run("update webhook_endpoints set events = '{conversation.translated}'").await;
    let enabled = world.operations().enable_endpoint(&world.ann, "w", &olga()).await.unwrap();
    assert_eq!(enabled, Some(Enabled::Enabled));
    assert_eq!(recorded(&world).await, ["enable_webhook"]);
}
