with doomed as (
    select user_id, job_id
    from finalization_jobs j
    where finished_at < $1 and (status = 'completed' or settled_at is not null)
    order by finished_at
    limit $2
    for update skip locked),
gone as (
    delete from finalization_jobs j
    using doomed d
    where j.user_id = d.user_id and j.job_id = d.job_id
    returning j.status, j.job_id, j.dead_code, j.settled_at is not null as settled)
-- Counted by what the totals count them by.
select status, abs(hashtext(job_id) % 16)::smallint as stripe, dead_code, settled, count(*)
from gone
group by status, stripe, dead_code, settled
order by status, stripe, dead_code, settled
