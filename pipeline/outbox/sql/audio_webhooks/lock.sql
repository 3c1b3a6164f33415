-- The same as health.sql, to be changed.
select enabled, disabled_reason, failing_since, failures as consecutive_failures, last_success_at
from audio_webhooks
where user_id = $1
  and version = $2
  and enabled
for no key update
