select count(*)
from (
    select from finalization_jobs
    where status = 'leased'
      and reconcile_after_at < statement_timestamp() - interval '1 minute'
    limit 1000
) o
