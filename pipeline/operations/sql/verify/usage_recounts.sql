select coalesce(g.user_id, c.user_id) || ': counted ' || coalesce(g.bytes, 0)
    || ' bytes, there are ' || coalesce(c.bytes, 0)
from user_usage g
full join (
    select user_id, sum(counted_bytes) as bytes
    from conversations
    where counted_bytes is not null
    group by user_id
) c using (user_id)
where coalesce(g.bytes, 0) <> coalesce(c.bytes, 0)
  and not exists (
      select from users u
      where u.user_id = coalesce(g.user_id, c.user_id) and u.deleting_since is not null
  )
