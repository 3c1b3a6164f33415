-- The task queue has these dispatches. Rows are locked in key order, so that no other batch waits for this one in a circle.
with handed as materialized (
    select j.user_id, j.job_id, h.dispatch
    from finalization_jobs j
    join unnest($1::text[], $2::text[], $3::bigint[]) as h (user_id, job_id, dispatch)
      on j.user_id = h.user_id and j.job_id = h.job_id
    order by j.user_id, j.job_id
    for no key update of j
)
update finalization_jobs j
set handed_dispatch = greatest(coalesce(j.handed_dispatch, 0), handed.dispatch),
    handed_at = statement_timestamp(),
    hand_after = null,
    hand_tries = null
from handed
where j.user_id = handed.user_id
  and j.job_id = handed.job_id
