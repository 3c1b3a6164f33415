select url, seconds, enabled, disabled_reason, failing_since, last_success_at, created_at, updated_at,
    false as is_new_secret
from audio_webhooks where user_id = $1
