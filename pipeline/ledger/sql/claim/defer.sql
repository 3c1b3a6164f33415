-- Defers a job that cannot be read, decided or stored by five minutes, whatever its other columns hold. One that was claimed
-- meanwhile is due no more and stays as it is.
update finalization_jobs
set version = version + 1,
    ready_at = case when status = 'queued' then clock.later end,
    reconcile_after_at = clock.later
from (select statement_timestamp() + interval '5 minutes' as later) clock
where user_id = $1
  and job_id = $2
  and (reconcile_after_at <= statement_timestamp() or (status = 'queued' and ready_at <= statement_timestamp()))
