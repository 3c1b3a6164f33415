-- Removes locked jobs, and counts them by what the totals count them by.
with gone as (
    delete from finalization_jobs j
    using unnest($1::text[], $2::text[]) d (user_id, job_id)
    where j.user_id = d.user_id and j.job_id = d.job_id
    returning j.status, j.dead_code, j.settled_at is not null as settled)
select status, dead_code, settled, count(*)
from gone
group by status, dead_code, settled
-- In the order in which the totals of dead letters are changed, as the admissions that settle many change them.
order by status, dead_code, settled
