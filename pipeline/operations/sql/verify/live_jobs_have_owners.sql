select job_id || ' ' || status || case
    when reconcile_after_at is null then ' has no such time'
    else ' should have been checked by ' || reconcile_after_at
end
from finalization_jobs
where status not in ('completed', 'dead_letter')
  and (reconcile_after_at is null or status <> 'queued' and reconcile_after_at < now() - interval '1 hour')
