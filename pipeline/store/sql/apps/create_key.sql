insert into app_keys (user_id, key_id, app_id, label, key_prefix, key_sha256, created_at)
select user_id, $3, app_id, $4, $5, $6, $7
from apps
where user_id = $1 and app_id = $2
returning key_id, label, key_prefix, created_at, last_used_at, revoked_at
