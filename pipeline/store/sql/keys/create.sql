insert into developer_keys (user_id, key_id, name, key_prefix, key_sha256, scopes, expires_at)
select user_id, $2, $3, $4, $5, $6, $7
from users
where user_id = $1
