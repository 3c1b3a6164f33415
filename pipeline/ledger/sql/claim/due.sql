-- The oldest due jobs of a queue that is not paused; only queued ones have a `ready_at`. Rows that another transaction has locked
-- are skipped: it is claiming or changing them. $3 names jobs that could neither be stored nor deferred.
select j.*, statement_timestamp() as now
from finalization_jobs j
where j.queue = $1
  and j.ready_at > '-infinity'
  and j.ready_at <= statement_timestamp()
  and j.job_id <> all ($3)
  and not exists (select from queue_pauses p where p.queue = $1)
order by j.ready_at, j.job_id
limit $2
for no key update of j skip locked
