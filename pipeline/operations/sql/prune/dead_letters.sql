with doomed as (
    select j.user_id, j.job_id
    from finalization_jobs j
    -- Each as it was when its page was read: one that has changed since is no match.
    join unnest($1::timestamptz[], $2::text[], $3::text[]) k (finished_at, user_id, job_id)
        using (user_id, job_id, finished_at)
    where exists (
            select from finalization_admissions a
            where a.user_id = j.user_id and a.conversation_id = j.conversation_id and a.revision > j.revision)
        or not exists (
            select from conversations c
            where c.user_id = j.user_id and c.conversation_id = j.conversation_id)
    for update of j skip locked),
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
