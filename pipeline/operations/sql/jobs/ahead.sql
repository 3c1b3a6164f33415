select count(*)
from (
    select from finalization_jobs
    where queue = $1
      and ready_at > '-infinity'
      and ready_at <= $2
      and (ready_at, job_id) < ($3, $4)
    order by ready_at, job_id
    limit 1000
) older
