-- A page of at most $2 unsettled dead letters older than $1, oldest first, after ($3, $4, $5).
select finished_at, user_id, job_id
from finalization_jobs
where status = 'dead_letter'
  and settled_at is null
  and finished_at < $1
  and (finished_at, user_id, job_id)
    > (coalesce($3::timestamptz, '-infinity'), coalesce($4, ''), coalesce($5, ''))
order by finished_at, user_id, job_id
limit $2
