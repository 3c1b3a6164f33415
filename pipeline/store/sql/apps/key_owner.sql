-- The live app key with this hash, and whether its last use was not noted for a minute.
select user_id, key_id, app_id,
    coalesce(last_used_at < statement_timestamp() - interval '1 minute', true) as is_unnoted
from app_keys where key_sha256 = $1 and revoked_at is null
