select status, count(*)
from finalization_jobs
where finished_at is null
group by status
union all
select status, sum(jobs)::bigint
from finalization_totals
group by status
