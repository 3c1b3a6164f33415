//! What store, outbox and operations keep besides jobs, against a real PostgreSQL: each test has a database of its
//! own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

#[path = "../shared/fixture.rs"]
mod fixture;
mod world;

mod assistant_turns;
mod backlog_and_health;
mod budgets;
mod cancelled_pushes;
mod columns;
mod constraints;
mod conversation_views;
mod conversations;
mod created_events;
mod deliveries;
mod delivery_claims;
mod delivery_fairness;
mod disabled_endpoints;
mod dispatcher_wakeups;
mod endpoint_health;
mod endpoints;
mod erasure;
mod folders;
mod gauges;
mod goal_validation;
mod goals;
mod idempotency;
mod idempotency_key_scope;
mod isolation;
mod item_changes;
mod items_and_memories;
mod key_lookup;
mod limits;
mod memory_changes;
mod operator_retry_now;
mod operator_users;
mod operator_webhooks;
mod prune_jobs;
mod prune_other_rows;
mod push_claims;
mod push_isolation;
mod push_subscriptions;
mod query_plans;
mod redelivery;
mod reminders;
mod segments;
mod users;
mod webhook_isolation;
mod webhook_recovery;
