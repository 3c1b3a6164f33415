update developer_keys
set revoked_at = statement_timestamp()
where user_id = $1 and key_id = $2 and revoked_at is null
