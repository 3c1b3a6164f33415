-- How many jobs of each user wait or run, counted up to the user's limit. $2 is the limit of users without their own; zero is no limit.
-- `(select $1)`: as in `lock_conversations.sql`.
select o.user_id,
       o.most_waiting,
       case when o.most_waiting > 0
           then (select count(*)
                 from (select from finalization_jobs j
                       where j.user_id = o.user_id and j.status in ('queued', 'leased', 'blocked_byok')
                       limit o.most_waiting) live)
           else 0
       end as waiting
from (select user_id, coalesce(limit_waiting_jobs, $2) as most_waiting
      from users
      where user_id = any ((select $1)::text[])) o
