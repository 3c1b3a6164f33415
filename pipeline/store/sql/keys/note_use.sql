-- Skips a key that another transaction has locked.
update developer_keys
set last_used_at = statement_timestamp()
where user_id = $1
  and key_id in (
      select key_id
      from developer_keys
      where user_id = $1
        and key_id = $2
        and coalesce(last_used_at < statement_timestamp() - interval '1 minute', true)
      for no key update skip locked
  )
