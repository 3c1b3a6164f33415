-- The next users after $2, in the order of their ids, who have a queued job, each with the oldest one. Each step of the
-- recursion is one look-up in finalization_jobs_by_user, however many jobs a user has; at most $3 steps. $4 are jobs that
-- cannot be stored.
with recursive waiting as (
    (select q.user_id, q.job_id, q.ready_at, 1 as step
     from finalization_jobs q
     where q.queue = $1 and q.status = 'queued' and q.user_id > $2 and q.job_id <> all ($4)
     order by q.user_id, q.ready_at, q.job_id
     limit 1)
    union all
    select n.user_id, n.job_id, n.ready_at, w.step + 1
    from waiting w
    cross join lateral (
        select q.user_id, q.job_id, q.ready_at
        from finalization_jobs q
        where q.queue = $1 and q.status = 'queued' and q.user_id > w.user_id and q.job_id <> all ($4)
        order by q.user_id, q.ready_at, q.job_id
        limit 1) n
    where w.step < $3
)
select user_id, job_id, ready_at <= statement_timestamp() as is_due
from waiting
order by user_id
