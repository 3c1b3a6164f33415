-- Adds to a user's account, and reads what it now holds beside the user's own limits.
with counted as (
    insert into user_usage as g (user_id, day, conversations, bytes)
    values ($1, $2, $3, $4)
    on conflict (user_id) do update
    set day = excluded.day,
        bytes = g.bytes + excluded.bytes,
        conversations = excluded.conversations + case when g.day = excluded.day then g.conversations else 0 end
    returning conversations, bytes
)
select c.conversations, c.bytes, u.limit_conversations_per_day, u.limit_bytes, u.limit_waiting_jobs
from counted c, users u
where u.user_id = $1
