-- Stores the health of a locked audio webhook.
update audio_webhooks
set enabled = $2,
    disabled_reason = $3,
    failing_since = $4,
    failures = $5,
    last_success_at = $6
where user_id = $1
