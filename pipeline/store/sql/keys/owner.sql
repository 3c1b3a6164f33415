select
    user_id,
    key_id,
    scopes,
    expires_at,
    coalesce(last_used_at < statement_timestamp() - interval '1 minute', true) as is_unnoted
from developer_keys
where key_sha256 = $1
  and revoked_at is null
  and coalesce(expires_at > statement_timestamp(), true)
