//! Foreign keys with `on delete cascade`: one that is dropped, or one too many, is found here. That each constraint refuses
//! invalid rows is tested in `constraints`.

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

#[tokio::test]
async fn foreign_keys_are_as_listed_and_delete_in_cascade() {
    let world = World::new().await;
    let keys: Vec<(String, String, String, String, bool, String)> = world.rows("select c.relname::text, a.attname::text, t.relname::text, first.attname::text, r.confdeltype = 'c', r.conname::text \
         from pg_constraint r join pg_class c on c.oid = r.conrelid join pg_class t on t.oid = r.confrelid \
         join pg_attribute a on a.attrelid = r.conrelid and a.attnum = r.conkey[cardinality(r.conkey)] \
         join pg_attribute first on first.attrelid = r.conrelid and first.attnum = r.conkey[1] \
         where r.connamespace = 'public'::regnamespace and r.contype = 'f' order by 1, 2, 3").await;
    for (table, _, of, first, follows, name) in &keys {
        assert!(*follows, "{table}: deleted with its parent");
        assert!(["user_id", "operation_id"].contains(&first.as_str()), "{table}: of the same user");
        // By this name a write that meets its user's deletion is known (`db::Error::UserDeleted`).
        assert_eq!(of == "users", name.ends_with("_user_fkey"), "{name}");
    }
    let keys: Vec<(&str, &str, &str)> =
        keys.iter().map(|(table, column, of, ..)| (table.as_str(), column.as_str(), of.as_str())).collect();
    assert_eq!(keys, FOREIGN_KEYS);
}
