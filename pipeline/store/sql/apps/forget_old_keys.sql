-- Of an app's revoked keys, the newest $3 are kept.
delete from app_keys
where user_id = $1
  and key_id in (
      select key_id
      from app_keys
      where user_id = $1 and app_id = $2 and revoked_at is not null
      order by created_at desc, key_id
      offset $3
  )
