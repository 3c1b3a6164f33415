select w.url, w.seconds, w.secret, w.version, statement_timestamp() as now
from audio_webhooks w join users u on u.user_id = w.user_id
where w.user_id = $1 and w.enabled and u.deleting_since is null
