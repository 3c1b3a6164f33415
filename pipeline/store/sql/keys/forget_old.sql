-- Of the revoked and expired keys, the newest $3 are kept.
delete from developer_keys
where user_id = $1
  and key_id in (
      select key_id
      from developer_keys
      where user_id = $1 and (revoked_at is not null or expires_at <= $2)
      order by created_at desc, key_id
      offset $3
  )
returning key_id
