select status, count(*)
from finalization_jobs
where status in ('queued', 'leased', 'blocked_byok')
group by status
union all
select status, sum(jobs)::bigint
from finalization_totals
group by status
