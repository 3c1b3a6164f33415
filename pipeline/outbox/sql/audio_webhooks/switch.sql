-- Enabling clears every mark of failure; disabling one that is disabled keeps its reason.
update audio_webhooks set enabled = $2,
    disabled_reason = case when not $2 then coalesce(disabled_reason, 'by_owner') end,
    failures = case when $2 then 0 else failures end, failing_since = case when not $2 then failing_since end,
    version = version + 1, updated_at = statement_timestamp()
where user_id = $1
returning url, seconds, enabled, disabled_reason, failing_since, last_success_at, created_at, updated_at,
    false as is_new_secret
