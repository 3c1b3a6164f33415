//! A valid row of every table, and the invalid rows that its constraints refuse.

/// One row of every table, all of them Ann's, in the order of their foreign keys; Ann, Bob and their folders exist
/// already.
pub(crate) const SEED: &str = "\
    insert into developer_keys (user_id, key_id, name, key_prefix, key_sha256, scopes) \
        values ('ann', 'k', 'laptop', 'lsk', decode(repeat('00', 32), 'hex'), '{}'); \
    insert into user_usage values ('ann', '2026-03-02', 0, 0); \
    insert into people (user_id, person_id, name) values ('ann', 'p', 'Tom'); \
    insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, \
            source, status) \
        values ('ann', 'c', now(), now(), now(), now(), 'en', 'phone', 'processing'); \
    insert into deleted_conversations (user_id, conversation_id) values ('ann', 'd'); \
    insert into deleted_extractions (user_id, conversation_id, kind, object_id, content) \
        values ('ann', 'c', 'memory', 'gone', 'Likes coffee'); \
    insert into transcript_segments (user_id, conversation_id, position, segment_id, content, start_seconds, \
            end_seconds) \
        values ('ann', 'c', 0, 's', 'Well.', 1, 2); \
    insert into photos (user_id, conversation_id, photo_id, base64) values ('ann', 'c', 'p', ''); \
    insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id) \
        values ('ann', 'i', 'Call Tom', now(), now(), 'c'); \
    insert into memories (user_id, memory_id, content, category, created_at, updated_at, conversation_id) \
        values ('ann', 'm', 'Likes tea', 'core', now(), now(), 'c'); \
    insert into embeddings (user_id, conversation_id, model, vector) values ('ann', 'c', 'm', '{1}'); \
    insert into search_entries (user_id, conversation_id, part, happened_at, content, words) \
        values ('ann', 'c', 0, now(), 'Well.', 'well'); \
    insert into audio_webhooks (user_id, url, seconds, secret, created_at, updated_at) \
        values ('ann', 'https://example.com/a', 5, 'whsec', now(), now()); \
    insert into live_usage (user_id, conversation_id, live_epoch, engine, own_key, received_seconds, \
            recognized_seconds, utterances, gap_seconds) values ('ann', 'c', 1, 'openai', false, 1, 1, 1, 0); \
    insert into chat_messages (user_id, thread, message_id, sender, text) \
        values ('ann', 'main', '00000000-0000-0000-0000-000000000001', 'human', 'Well?'), \
            ('ann', 'main', '00000000-0000-0000-0000-000000000002', 'ai', 'Well.'), \
            ('ann', 'main', '00000000-0000-0000-0000-000000000003', 'ai', 'Well!'); \
    insert into chat_turns (user_id, reply_id, question_id, thread, request_id, status, begun_at, running_until) \
        values ('ann', '00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001', 'main', 'x', \
            'running', now(), now()); \
    insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, ready_at, \
            requires_keys, force_process, admitted_at, reconcile_after_at, created_at, updated_at) \
        values ('ann', 'j', 'c', 1, 'create', 'creation', 'queued', now(), false, false, now(), now(), now(), now()); \
    insert into finalization_admissions (user_id, conversation_id, revision, job_id, admitted_at) \
        values ('ann', 'c', 1, 'j', now()); \
    insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch) \
        values ('ann', 'j', 'structure', 1, 'd', '1', 1); \
    insert into engine_usage (user_id, job_id, epoch, stage, engine, calls, prompt_tokens, cached_tokens, \
            completion_tokens) \
        values ('ann', 'j', 1, 'structure', 'e', 0, 0, 0, 0); \
    insert into operator_actions (user_id, action_id, job_id, action, operator, reason) \
        values ('ann', 'a', 'j', 'replay', 'olga', 'fixed'); \
    insert into dead_letter_totals (code, settled, stripe) values ('internal', false, 0); \
    insert into webhook_endpoints (user_id, endpoint_id, url, events, secret) \
        values ('ann', 'w', 'https://example.com/w', '{}', 'whsec'); \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
        values ('ann', 'w', 'd', 'conversation.completed', 'pending', now(), now()); \
    insert into goals (user_id, goal_id, title, target_value, created_at, updated_at) \
        values ('ann', 'g', 'Read', 1, now(), now()); \
    insert into goal_progress (user_id, goal_id, day, value, recorded_at) values ('ann', 'g', now(), 1, now()); \
    insert into push_subscriptions (user_id, subscription_id, kind, url) \
        values ('ann', 's', 'webhook', 'https://example.com/s'); \
    insert into reminders (user_id, action_item_id, revision, due_at) values ('ann', 'i', 1, now()); \
    insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, \
            next_at, created_at) \
        values ('ann', 's', 'd', 'i', 'set', now(), 'pending', now(), now()); \
    insert into apps (user_id, app_id, name, description, visibility, secret, created_at, updated_at) \
        values ('ann', 'a', 'Tasks', '', 'private', 'whsec', now(), now()); \
    insert into app_keys (user_id, key_id, app_id, label, key_prefix, key_sha256, created_at) \
        values ('ann', 'k', 'a', 'key', 'lak', decode(repeat('00', 32), 'hex'), now()); \
    insert into app_installs (user_id, app_id, owner_id, installed_at) values ('ann', 'a', 'ann', now()); \
    insert into user_locations (user_id, latitude, longitude, noted_at) values ('ann', 1, 2, now()); \
    insert into chat_messages (user_id, thread, message_id, sender, text) \
        values ('ann', 'main', '01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90', 'app', 'hello'); \
    insert into request_keys (user_id, route, request_key, fingerprint, made, created_at, running_until) \
        values ('ann', 'r', 'k', 'f', '{}', now(), now()); \
    insert into service_processes (process_id, version, roles, dispatch_mode, finalization_slots, creation_slots, \
            started_at, seen_at) \
        values ('p', '1', '{}', 'pull', 1, 1, now(), now()); \
    insert into service_minutes (minute, process_id, lengths) values (now(), 'p', '{}'); \
    insert into service_rounds (name, done_at) values ('prune', now()); \
    insert into queue_pauses (queue, operator, reason, paused_at) values ('creation', 'olga', 'fire', now()); \
    insert into replay_operations (operation_id, status, operator, reason, filter, from_scratch, per_minute, in_flight, \
            items, lease_until, next_at, created_at, updated_at) \
        values ('o', 'running', 'olga', 'fixed', '', false, 1, 1, 1, now(), now(), now(), now()); \
    insert into replay_items (operation_id, position, user_id, job_id, generation) values ('o', 0, 'ann', 'j', 1)";

/// A table, one of its constraints, and the assignment that breaks that constraint alone; or a whole statement.
pub(super) type InvalidRow = (&'static str, &'static str, &'static str);

/// Invalid rows of users and their data.
pub(super) const OF_USERS: &[InvalidRow] = &[
    ("users", "user_id_length", "insert into users (user_id) values ('')"),
    ("users", "user_id_length", "insert into users (user_id) values (repeat('x', 129))"),
    ("developer_keys", "key_is_a_hash", "key_sha256 = 'a key as it is'"),
    ("people", "person_name_length", "name = ''"),
    ("people", "person_name_length", "name = repeat('x', 101)"),
    ("folders", "folder_name_length", "name = ''"),
    ("folders", "folder_name_length", "name = repeat('x', 101)"),
    ("folders", "folder_description_length", "description = repeat('x', 501)"),
    ("conversations", "status_known", "status = 'gone'"),
    ("conversations", "visibility_known", "visibility = 'gone'"),
    ("conversations", "times_in_order", "finished_at = started_at - interval '1 second'"),
    ("conversations", "title_length", "title = repeat('x', 501)"),
    ("conversations", "text_length", "private_text = repeat('x', 100001)"),
    (
        "transcript_segments",
        "segment_id_once",
        "insert into transcript_segments (user_id, conversation_id, position, segment_id, content, start_seconds, \
             end_seconds) values ('ann', 'c', 1, 's', 'Well.', 1, 2)",
    ),
    ("transcript_segments", "segment_times", "start_seconds = -1"),
    ("transcript_segments", "segment_times", "end_seconds = 0.5"),
    ("action_items", "item_description_length", "description = ''"),
    ("action_items", "item_description_length", "description = repeat('x', 501)"),
    ("action_items", "completed_has_time", "completed = true"),
    ("action_items", "completed_has_time", "completed_at = now()"),
    ("memories", "memory_content_length", "content = ''"),
    ("memories", "memory_content_length", "content = repeat('x', 501)"),
    ("memories", "memory_category_known", "category = 'gone'"),
    ("memories", "memory_visibility_known", "visibility = 'shared'"),
    ("deleted_extractions", "deleted_kind_known", "kind = 'gone'"),
    ("chat_messages", "chat_sender_known", "sender = 'gone'"),
    ("chat_turns", "turn_status_known", "status = 'gone'"),
    (
        "chat_turns",
        "chat_turns_running",
        "insert into chat_turns (user_id, reply_id, question_id, thread, request_id, status, begun_at, running_until) \
         values ('ann', '00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000001', 'main', 'y', \
             'running', now(), now())",
    ),
    (
        "chat_turns",
        "chat_turns_requested",
        "insert into chat_turns (user_id, reply_id, question_id, thread, request_id, status, begun_at, running_until) \
         values ('ann', '00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000001', 'main', 'x', \
             'completed', now(), now())",
    ),
    ("goals", "goal_title_length", "title = ''"),
    ("goals", "goal_title_length", "title = repeat('x', 501)"),
    ("goals", "goal_type_known", "goal_type = 'gone'"),
    ("request_keys", "answer_has_status", "status = 200"),
    ("request_keys", "answer_has_status", "answer = '{}'"),
    (
        "epoch_floor",
        "epoch_floor_has_one_row",
        "insert into epoch_floor (is_only_row, epoch) values (false, 0)",
    ),
];

/// Invalid rows of jobs, totals, usage and operator actions. The job is queued.
pub(super) const OF_JOBS: &[InvalidRow] = &[
    (
        "finalization_jobs",
        "one_job_per_revision",
        "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, \
             requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
         values ('ann', 'k', 'c', 1, 'create', 'creation', 'completed', 'kept', false, false, now(), now(), now(), now())",
    ),
    (
        "finalization_jobs",
        "one_unfinished_job_per_conversation",
        "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, ready_at, \
             requires_keys, force_process, admitted_at, reconcile_after_at, created_at, updated_at) \
         values ('ann', 'k', 'c', 2, 'create', 'creation', 'queued', now(), false, false, now(), now(), now(), now())",
    ),
    ("finalization_jobs", "origin_known", "origin = 'gone'"),
    ("finalization_jobs", "queue_known", "queue = 'gone'"),
    ("finalization_jobs", "status_known", "status = 'gone', ready_at = null"),
    ("finalization_jobs", "queued_has_ready_at", "ready_at = null"),
    ("finalization_jobs", "queued_has_ready_at", "status = 'blocked_byok', first_blocked_at = now()"),
    ("finalization_jobs", "lease_iff_leased", "lease_worker = 'w'"),
    ("finalization_jobs", "lease_iff_leased", "lease_claimed_at = now()"),
    ("finalization_jobs", "lease_iff_leased", "lease_expires_at = now()"),
    ("finalization_jobs", "lease_iff_leased", "lease_ready_at = now()"),
    (
        "finalization_jobs",
        "lease_iff_leased",
        "status = 'leased', ready_at = null, lease_claimed_at = now(), lease_expires_at = now(), lease_ready_at = now()",
    ),
    (
        "finalization_jobs",
        "lease_iff_leased",
        "status = 'leased', ready_at = null, lease_worker = 'w', lease_expires_at = now(), lease_ready_at = now()",
    ),
    (
        "finalization_jobs",
        "lease_iff_leased",
        "status = 'leased', ready_at = null, lease_worker = 'w', lease_claimed_at = now(), lease_ready_at = now()",
    ),
    (
        "finalization_jobs",
        "lease_iff_leased",
        "status = 'leased', ready_at = null, lease_worker = 'w', lease_claimed_at = now(), lease_expires_at = now()",
    ),
    ("finalization_jobs", "completed_has_outcome", "outcome = 'kept'"),
    (
        "finalization_jobs",
        "completed_has_outcome",
        "status = 'completed', ready_at = null, reconcile_after_at = null, finished_at = now()",
    ),
    (
        "finalization_jobs",
        "outcome_known",
        "status = 'completed', outcome = 'gone', ready_at = null, reconcile_after_at = null, finished_at = now()",
    ),
    ("finalization_jobs", "dead_letter_has_code", "dead_code = 'internal'"),
    (
        "finalization_jobs",
        "dead_letter_has_code",
        "status = 'dead_letter', ready_at = null, reconcile_after_at = null, finished_at = now()",
    ),
    (
        "finalization_jobs",
        "codes_known",
        "status = 'dead_letter', dead_code = 'gone', ready_at = null, reconcile_after_at = null, finished_at = now()",
    ),
    ("finalization_jobs", "codes_known", "last_code = 'gone'"),
    ("finalization_jobs", "reconcile_iff_nonterminal", "reconcile_after_at = null"),
    (
        "finalization_jobs",
        "reconcile_iff_nonterminal",
        "status = 'completed', outcome = 'kept', ready_at = null, finished_at = now()",
    ),
    ("finalization_jobs", "finished_iff_terminal", "finished_at = now()"),
    (
        "finalization_jobs",
        "finished_iff_terminal",
        "status = 'completed', outcome = 'kept', ready_at = null, reconcile_after_at = null",
    ),
    ("finalization_jobs", "keys_never_queue", "requires_keys = true"),
    ("finalization_jobs", "blocked_has_clock", "status = 'blocked_byok', ready_at = null"),
    ("finalization_jobs", "settled_is_dead", "settled_at = now()"),
    ("finalization_jobs", "numbers_sane", "generation = 0"),
    ("finalization_jobs", "numbers_sane", "epoch = -1"),
    ("finalization_jobs", "numbers_sane", "dispatch = -1"),
    ("finalization_jobs", "numbers_sane", "attempts = -1"),
    ("finalization_jobs", "numbers_sane", "crashes = -1"),
    ("finalization_jobs", "numbers_sane", "runs = -1"),
    ("finalization_jobs", "numbers_sane", "version = 0"),
    ("finalization_jobs", "trace_context_is_one", "trace_context = 'words'"),
    ("finalization_totals", "total_status_known", "status = 'queued' where status = 'completed'"),
    ("engine_usage", "usage_is_counted", "calls = -1"),
    ("engine_usage", "usage_is_counted", "prompt_tokens = -1"),
    ("engine_usage", "usage_is_counted", "cached_tokens = -1"),
    ("engine_usage", "usage_is_counted", "completion_tokens = -1"),
    ("operator_actions", "action_known", "action = 'no name'"),
    ("queue_pauses", "queue_known", "queue = 'gone'"),
    ("replay_operations", "operation_status_known", "status = 'gone'"),
    ("replay_operations", "finished_iff_ended", "finished_at = now()"),
    ("replay_operations", "finished_iff_ended", "status = 'done'"),
    ("replay_operations", "finished_iff_ended", "status = 'cancelled'"),
    ("replay_operations", "caps_sane", "per_minute = 0"),
    ("replay_operations", "caps_sane", "in_flight = 0"),
    ("replay_operations", "caps_sane", "items = -1, refused = -1"),
    ("replay_operations", "counts_sane", "replayed = 1, refused = 1"),
    ("replay_operations", "counts_sane", "replayed = 1, completed = 1, died_again = 1"),
    ("replay_operations", "counts_sane", "parked = 1"),
    ("replay_items", "item_status_known", "status = 'gone'"),
];

/// Invalid rows of endpoints, deliveries and pushes. Both deliveries are pending.
pub(super) const OF_DELIVERIES: &[InvalidRow] = &[
    ("webhook_endpoints", "format_known", "format = 'gone'"),
    ("webhook_endpoints", "disabled_has_reason", "enabled = false"),
    ("webhook_endpoints", "disabled_has_reason", "disabled_reason = 'gone'"),
    ("webhook_endpoints", "previous_secret_ends", "previous_secret = 'whsec'"),
    ("webhook_endpoints", "previous_secret_ends", "previous_secret_until = now()"),
    ("webhook_deliveries", "delivery_status_known", "status = 'gone'"),
    ("webhook_deliveries", "pending_has_next", "next_at = null"),
    ("webhook_deliveries", "sending_has_until", "sending_until = now()"),
    ("webhook_deliveries", "sending_has_until", "status = 'sending'"),
    ("webhook_deliveries", "finished_has_time", "finished_at = now()"),
    ("webhook_deliveries", "finished_has_time", "status = 'delivered'"),
    ("webhook_deliveries", "finished_has_time", "status = 'exhausted'"),
    ("webhook_deliveries", "finished_has_time", "status = 'cancelled'"),
    (
        "webhook_deliveries",
        "finished_has_no_body",
        "status = 'delivered', finished_at = now(), body = 'words'",
    ),
    (
        "webhook_deliveries",
        "finished_has_no_body",
        "status = 'cancelled', finished_at = now(), body = 'words'",
    ),
    ("webhook_deliveries", "trace_context_is_one", "trace_context = 'words'"),
    ("push_subscriptions", "push_kind_known", "kind = 'gone'"),
    ("push_subscriptions", "webpush_has_keys", "kind = 'webpush', auth = 'a'"),
    ("push_subscriptions", "webpush_has_keys", "kind = 'webpush', p256dh = 'p'"),
    ("push_subscriptions", "webpush_has_keys", "auth = 'a'"),
    ("push_subscriptions", "webpush_has_keys", "p256dh = 'p'"),
    ("push_deliveries", "push_reminder_is_whole", "notice = null"),
    ("push_deliveries", "push_reminder_is_whole", "due_at = null"),
    ("push_deliveries", "push_message_is_whole", "app_name = 'Tasks'"),
    ("push_deliveries", "push_message_is_whole", "target = 'main'"),
    (
        "push_deliveries",
        "push_is_of_one",
        "app_name = 'Tasks', target = 'main', message_id = '01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90'",
    ),
    ("push_deliveries", "push_is_of_one", "action_item_id = null, notice = null, due_at = null"),
    ("push_deliveries", "push_notice_known", "notice = 'gone'"),
    ("push_deliveries", "push_status_known", "status = 'gone', next_at = null"),
    ("push_deliveries", "push_pending_has_next", "next_at = null"),
    ("push_deliveries", "push_pending_has_next", "status = 'sending', sending_until = now()"),
    ("push_deliveries", "push_sending_has_until", "sending_until = now()"),
    ("push_deliveries", "push_sending_has_until", "status = 'sending', next_at = null"),
    ("push_deliveries", "push_finished_has_time", "finished_at = now()"),
    ("push_deliveries", "push_finished_has_time", "status = 'delivered', next_at = null"),
    ("push_deliveries", "push_finished_has_time", "status = 'exhausted', next_at = null"),
    ("push_deliveries", "push_finished_has_time", "status = 'cancelled', next_at = null"),
    ("chat_messages", "chat_sender_known", "sender = 'unknown'"),
];

/// Invalid rows of apps and locations.
pub(super) const OF_APPS: &[InvalidRow] = &[
    ("apps", "app_name_length", "name = ''"),
    ("apps", "app_name_length", "name = repeat('x', 101)"),
    ("apps", "app_visibility_known", "visibility = 'secret'"),
    ("apps", "app_chat_target_known", "chat_target = 'everywhere'"),
    ("apps", "manifest_has_hash", "manifest = '{}', manifest_sha256 = 'x'"),
    ("apps", "manifest_has_hash", "manifest = '{}', manifest_fetched_at = now()"),
    ("apps", "switched_off_has_reason", "switched_off_at = now()"),
    ("apps", "switched_off_has_reason", "switched_off_reason = 'it misbehaves'"),
    ("app_keys", "app_key_is_a_hash", "key_sha256 = 'a key as it is'"),
    ("audio_webhooks", "audio_seconds_in_bounds", "seconds = 0"),
    ("audio_webhooks", "audio_seconds_in_bounds", "seconds = 61"),
    ("audio_webhooks", "audio_disabled_has_reason", "enabled = false"),
    ("audio_webhooks", "audio_disabled_has_reason", "disabled_reason = 'gone'"),
    ("live_usage", "live_usage_is_counted", "received_seconds = -1"),
    ("live_usage", "live_usage_is_counted", "cost = -1"),
    ("user_locations", "location_in_bounds", "latitude = 91"),
    ("user_locations", "location_in_bounds", "longitude = -181"),
];
