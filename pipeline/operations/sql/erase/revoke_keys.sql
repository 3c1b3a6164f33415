update developer_keys
set revoked_at = $2
where user_id = $1 and revoked_at is null
