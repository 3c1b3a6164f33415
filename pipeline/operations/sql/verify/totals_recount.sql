select coalesce(t.status, r.status) || ': total ' || coalesce(t.jobs, 0) || ', counted ' || coalesce(r.jobs, 0)
from (select status, sum(jobs) as jobs from finalization_totals group by status) t
full join (
    select status, count(*) as jobs
    from finalization_jobs
    where status in ('completed', 'dead_letter')
    group by status
) r using (status)
where coalesce(t.jobs, 0) <> coalesce(r.jobs, 0)
