with doomed as materialized (
    select user_id, job_id, conversation_id, revision, epoch
    from finalization_jobs
    where user_id = $1
    order by job_id
    limit $2
    for update),
admissions as (
    delete from finalization_admissions a
    using doomed d
    where a.user_id = d.user_id and a.conversation_id = d.conversation_id and a.revision = d.revision),
-- A user who is created again under this id may have jobs of these ids: their epochs begin above those that are removed.
floor as (
    update epoch_floor
    set epoch = greatest(epoch, (select max(epoch) + 1 from doomed))
    where exists (select from doomed)),
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
