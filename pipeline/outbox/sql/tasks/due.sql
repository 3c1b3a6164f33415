-- Jobs whose task should have been delivered by now, oldest first after ($1, $2), with the dispatch that was handed over. `is_old`: so
-- long ago that the task is taken for lost, whatever the queue answers.
select j.reconcile_after_at as at, j.user_id, j.job_id as id, j.generation, j.dispatch,
       j.handed_at < statement_timestamp() - interval '24 hours' as is_old
from finalization_jobs j
where j.queue = 'finalization'
  and j.status = 'queued'
  and j.handed_dispatch = j.dispatch
  and j.reconcile_after_at <= statement_timestamp()
  and (j.reconcile_after_at, j.job_id) > (coalesce($1::timestamptz, '-infinity'), coalesce($2, ''))
order by j.reconcile_after_at, j.job_id
limit $3
