-- For how many seconds the oldest of the next 1,000 dispatches has waited for the task queue, and how often it was tried; none while
-- the queue is paused.
select extract(epoch from statement_timestamp() - waiting.updated_at)::double precision as seconds,
       coalesce(waiting.hand_tries, 0) as tries
from (
    select j.updated_at, j.hand_tries
    from finalization_jobs j
    where j.queue = 'finalization'
      and j.status = 'queued'
      and j.handed_dispatch is distinct from j.dispatch
      and not exists (select from queue_pauses p where p.queue = 'finalization')
    order by coalesce(j.hand_after, j.updated_at), j.job_id
    limit 1000
) waiting
order by waiting.updated_at
limit 1
