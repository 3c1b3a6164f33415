-- What a user's account holds on the day $2, beside the user's own limits.
select case when g.day = $2 then g.conversations else 0 end as conversations, coalesce(g.bytes, 0) as bytes,
       u.limit_conversations_per_day, u.limit_bytes, u.limit_waiting_jobs
from users u left join user_usage g using (user_id)
where user_id = $1
