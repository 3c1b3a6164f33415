insert into user_usage as g (user_id, day, conversations, bytes)
select user_id, $1, 0, sum(bytes)
from (
    select user_id, -bytes as bytes
    from user_usage
    union all
    select user_id, counted_bytes
    from conversations
    where counted_bytes is not null
) d
group by user_id
having sum(bytes) <> 0
order by user_id
on conflict (user_id) do update
set bytes = g.bytes + excluded.bytes
