//! Foreign keys with `on delete cascade`, and nullable columns: a constraint that is dropped, or one too many, is
//! found here. That each constraint refuses invalid rows is tested in `constraints`.

use crate::world::World;

/// Each table, a column that references another table, and that table; both rows are of one user.
const FOREIGN_KEYS: &[(&str, &str, &str)] = &[
    ("action_items", "conversation_id", "conversations"),
    ("action_items", "user_id", "users"),
    ("app_installs", "user_id", "users"),
    ("app_keys", "app_id", "apps"),
    ("apps", "user_id", "users"),
    ("audio_webhooks", "user_id", "users"),
    ("chat_messages", "user_id", "users"),
    ("chat_turns", "reply_id", "chat_messages"),
    ("conversations", "user_id", "users"),
    ("developer_keys", "user_id", "users"),
    ("embeddings", "conversation_id", "conversations"),
    ("engine_usage", "job_id", "finalization_jobs"),
    ("folders", "user_id", "users"),
    ("goal_progress", "goal_id", "goals"),
    ("goals", "user_id", "users"),
    ("live_usage", "conversation_id", "conversations"),
    ("memories", "conversation_id", "conversations"),
    ("memories", "user_id", "users"),
    ("people", "user_id", "users"),
    ("photos", "conversation_id", "conversations"),
    ("push_deliveries", "action_item_id", "reminders"),
    ("push_deliveries", "message_id", "chat_messages"),
    ("push_deliveries", "subscription_id", "push_subscriptions"),
    ("push_subscriptions", "user_id", "users"),
    ("reminders", "action_item_id", "action_items"),
    ("replay_items", "operation_id", "replay_operations"),
    ("request_keys", "user_id", "users"),
    ("search_entries", "conversation_id", "conversations"),
    ("stage_checkpoints", "job_id", "finalization_jobs"),
    ("transcript_segments", "conversation_id", "conversations"),
    ("user_locations", "user_id", "users"),
    ("user_usage", "user_id", "users"),
    ("webhook_deliveries", "endpoint_id", "webhook_endpoints"),
    ("webhook_endpoints", "user_id", "users"),
];

/// The nullable columns of each table. Tables that are not listed have none.
const NULLABLE: &[(&str, &str)] = &[
    ("action_items", "due_at completed_at conversation_id revision words"),
    ("app_installs", "removed_at"),
    ("app_keys", "last_used_at revoked_at"),
    (
        "apps",
        "home_url manifest_url webhook_url setup_url setup_completed_url summary_prompt manifest \
         manifest_sha256 manifest_fetched_at failing_since switched_off_at switched_off_reason \
         requests_full_at mcp_url mcp_token",
    ),
    ("audio_webhooks", "disabled_reason failing_since last_success_at"),
    ("chat_messages", "app_id"),
    ("chat_turns", "request_id trouble"),
    (
        "conversations",
        "folder_id geolocation external_data private_text text_source text_source_spec \
         client_session_id client_device_id client_platform last_append_at engine counted_bytes \
         live_epoch live_timeout last_activity_at process_after live_process live_since indexed_revision",
    ),
    ("developer_keys", "last_used_at expires_at revoked_at"),
    (
        "finalization_jobs",
        "ready_at lease_worker lease_claimed_at lease_expires_at lease_ready_at outcome dead_code \
         first_blocked_at last_code settled_at next_check_at reconcile_after_at finished_at history \
         trace_context crashed_epoch handed_dispatch handed_at hand_after hand_tries hurried",
    ),
    ("folders", "description"),
    ("goals", "unit"),
    ("live_usage", "cost"),
    ("memories", "user_review scoring conversation_id revision words"),
    ("operator_actions", "job_id from_status from_code from_generation to_generation subject detail"),
    ("photos", "description"),
    (
        "push_deliveries",
        "action_item_id notice due_at message_id app_name target next_at sending_until last_status last_error \
         finished_at",
    ),
    ("push_subscriptions", "p256dh auth failing_since last_success_at"),
    ("reminders", "fire_at"),
    ("replay_items", "result changed_at"),
    ("replay_operations", "executor finished_at"),
    ("request_keys", "status answer"),
    ("service_processes", "servers"),
    ("service_rounds", "every_seconds"),
    ("transcript_segments", "segment_id speaker speaker_id person_id"),
    ("user_locations", "address google_place_id location_type"),
    ("users", "name deleting_since limit_conversations_per_day limit_bytes limit_waiting_jobs"),
    (
        "webhook_deliveries",
        "conversation_id revision subject_id next_at sending_until last_status last_error body \
         finished_at trace_context history",
    ),
    (
        "webhook_endpoints",
        "disabled_reason failing_since open_until last_success_at previous_secret \
         previous_secret_until app_id",
    ),
];

#[tokio::test]
async fn foreign_keys_are_as_listed_and_delete_in_cascade() {
    let world = World::new().await;
    let keys: Vec<(String, String, String, String, bool)> = world.rows("select c.relname::text, a.attname::text, t.relname::text, first.attname::text, r.confdeltype = 'c' \
         from pg_constraint r join pg_class c on c.oid = r.conrelid join pg_class t on t.oid = r.confrelid \
         join pg_attribute a on a.attrelid = r.conrelid and a.attnum = r.conkey[cardinality(r.conkey)] \
         join pg_attribute first on first.attrelid = r.conrelid and first.attnum = r.conkey[1] \
         where r.connamespace = 'public'::regnamespace and r.contype = 'f' order by 1, 2, 3").await;
    for (table, _, _, first, follows) in &keys {
        assert!(*follows, "{table}: deleted with its parent");
        assert!(["user_id", "operation_id"].contains(&first.as_str()), "{table}: of the same user");
    }
    let keys: Vec<(&str, &str, &str)> =
        keys.iter().map(|(table, column, of, ..)| (table.as_str(), column.as_str(), of.as_str())).collect();
    assert_eq!(keys, FOREIGN_KEYS);
}

#[tokio::test]
async fn nullable_columns_are_as_listed() {
    let world = World::new().await;
    let columns: Vec<(String, String)> = world
        .rows(
            "select c.relname::text, string_agg(a.attname, ' ' order by a.attnum) \
         from pg_attribute a join pg_class c on c.oid = a.attrelid \
         where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like '\\_sqlx%' \
             and a.attnum > 0 and not a.attisdropped and not a.attnotnull group by 1 order by 1",
        )
        .await;
    let columns: Vec<(&str, &str)> =
        columns.iter().map(|(table, names)| (table.as_str(), names.as_str())).collect();
    assert_eq!(columns, NULLABLE);
}
