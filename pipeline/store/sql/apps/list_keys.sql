select key_id, label, key_prefix, created_at, last_used_at, revoked_at
from app_keys
where user_id = $1 and app_id = $2
order by created_at desc, key_id
