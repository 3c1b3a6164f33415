-- Those of the named jobs, whose users are $1, that are still due and that no other transaction has locked.
select j.*, statement_timestamp() as now
from unnest($1::text[], $2::text[]) as k (user_id, job_id)
join finalization_jobs j on j.user_id = k.user_id and j.job_id = k.job_id
where j.status = 'queued'
  and j.ready_at <= statement_timestamp()
  and j.job_id <> all ($3)
order by j.user_id, j.job_id
for no key update of j skip locked
