-- Takes jobs whose newest dispatch the task queue does not have, the longest waiting first, and holds each for $2 seconds: when this
-- process dies meanwhile, another one hands it over. A paused queue hands nothing over; locked rows are skipped. `version` stays,
-- because no decision reads what is written here.
with due as (
    select j.user_id, j.job_id, statement_timestamp() as now
    from finalization_jobs j
    where j.queue = 'finalization'
      and j.status = 'queued'
      and j.handed_dispatch is distinct from j.dispatch
      and coalesce(j.hand_after, j.updated_at) <= statement_timestamp()
      and not exists (select from queue_pauses p where p.queue = 'finalization')
    order by coalesce(j.hand_after, j.updated_at), j.job_id
    limit $1
    for no key update of j skip locked
)
update finalization_jobs j
set hand_after = statement_timestamp() + make_interval(secs => $2),
    hand_tries = coalesce(j.hand_tries, 0) + 1
from due
where j.user_id = due.user_id
  and j.job_id = due.job_id
returning j.user_id, j.job_id, j.generation, j.dispatch, j.ready_at, j.hand_tries, j.trace_context, due.now
