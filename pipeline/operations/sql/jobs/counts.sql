-- Jobs by status. Live ones are counted by the partial index of each status, whose condition is said in its words, and without their
-- rows; finished ones are counted with every transition.
select 'queued' as status, count(*)
from finalization_jobs
where ready_at > '-infinity'
union all
select 'leased', count(*)
from finalization_jobs
where status = 'leased'
union all
select 'blocked_byok', count(*)
from finalization_jobs
where status = 'blocked_byok'
union all
select status, sum(jobs)::bigint
from finalization_totals
group by status
