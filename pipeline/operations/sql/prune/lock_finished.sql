-- At most $2 jobs that were finished before $1, oldest first: completed ones, and dead letters that were settled.
select user_id, job_id
from finalization_jobs
where finished_at < $1
  and (status = 'completed' or settled_at is not null)
order by finished_at
limit $2
for update skip locked
