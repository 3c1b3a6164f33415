-- Those of the named jobs that are still due and that no other transaction has locked.
select j.*, statement_timestamp() as now
from finalization_jobs j
where j.user_id = any ($1)
  and j.job_id = any ($2)
  and j.status = 'queued'
  and j.ready_at <= statement_timestamp()
  and j.job_id <> all ($3)
order by j.user_id, j.job_id
for no key update of j skip locked
