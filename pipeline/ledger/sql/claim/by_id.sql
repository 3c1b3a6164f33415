-- Those of the named jobs, whose users are $1, that are still due and that no other transaction has locked. Only a queued job has a
-- `ready_at`; that its status is not named leaves the planner the key alone.
select j.*, statement_timestamp() as now
from unnest($1::text[], $2::text[]) as k (user_id, job_id)
join finalization_jobs j on j.user_id = k.user_id and j.job_id = k.job_id
where j.ready_at <= statement_timestamp()
  and j.job_id <> all ($3)
order by j.user_id, j.job_id
for no key update of j skip locked
