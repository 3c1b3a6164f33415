update app_keys
set revoked_at = $4
where user_id = $1
  and app_id = $2
  and key_id = $3
  and revoked_at is null
