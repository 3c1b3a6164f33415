insert into dead_letter_totals as t (code, settled, stripe, jobs)
select code, settled, 0, sum(jobs)
from (
    select code, settled, -jobs as jobs
    from dead_letter_totals
    union all
    select dead_code, settled_at is not null, 1
    from finalization_jobs
    where status = 'dead_letter'
) d
group by code, settled
having sum(jobs) <> 0
on conflict (code, settled, stripe) do update
set jobs = t.jobs + excluded.jobs
