-- The task queue did not take these dispatches: each is tried again after its own wait in seconds. One that was handed over or replaced
-- by a newer dispatch meanwhile stays as it is.
with refused as materialized (
    select j.user_id, j.job_id, statement_timestamp() + make_interval(secs => r.wait) as hand_after
    from finalization_jobs j
    join unnest($1::text[], $2::text[], $3::bigint[], $4::double precision[]) as r (user_id, job_id, dispatch, wait)
      on j.user_id = r.user_id and j.job_id = r.job_id and j.dispatch = r.dispatch
    where j.handed_dispatch is distinct from j.dispatch
    order by j.user_id, j.job_id
    for no key update of j
)
update finalization_jobs j
set hand_after = refused.hand_after
from refused
where j.user_id = refused.user_id
  and j.job_id = refused.job_id
