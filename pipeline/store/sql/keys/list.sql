select key_id, name, key_prefix, scopes, created_at, last_used_at, expires_at, revoked_at
from developer_keys
where user_id = $1
order by created_at desc, key_id
