-- How many jobs of each user wait or run, counted up to the user's limit.
-- `(select $1)`: as in `lock_conversations.sql`.
select k.user_id,
       k.most,
       (select count(*)
        from (select from finalization_jobs j
              where j.user_id = k.user_id and j.finished_at is null
              limit k.most) live) as jobs
from unnest((select $1::text[]), (select $2::bigint[])) as k (user_id, most)
