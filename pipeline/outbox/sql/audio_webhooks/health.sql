-- The health of an enabled audio webhook, of the version that sent a request. None: it was changed or disabled since.
select enabled, disabled_reason, failing_since, failures as consecutive_failures, last_success_at,
    statement_timestamp() as now
from audio_webhooks
where user_id = $1
  and version = $2
  and enabled
