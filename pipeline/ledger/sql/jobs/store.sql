-- Stores jobs over the versions at which they were read; returns the ids of those that were stored. Each row of $1 is a job as
-- jsonb, turned into a row one by one: of jsonb_populate_recordset the planner expects 1,000 rows, and would read the whole table.
-- $2 is how many history entries a row keeps.
update finalization_jobs j
set version = j.version + 1,
    queue = r.queue,
    status = r.status,
    ready_at = r.ready_at,
    epoch = r.epoch,
    lease_worker = r.lease_worker,
    lease_claimed_at = r.lease_claimed_at,
    lease_expires_at = r.lease_expires_at,
    lease_ready_at = r.lease_ready_at,
    outcome = r.outcome,
    dead_code = r.dead_code,
    generation = r.generation,
    dispatch = r.dispatch,
    attempts = r.attempts,
    crashes = r.crashes,
    crashed_epoch = r.crashed_epoch,
    runs = r.runs,
    requires_keys = r.requires_keys,
    admitted_at = r.admitted_at,
    first_blocked_at = r.first_blocked_at,
    last_code = r.last_code,
    settled_at = r.settled_at,
    next_check_at = r.next_check_at,
    hurried = r.hurried,
    reconcile_after_at = r.reconcile_after_at,
    updated_at = r.updated_at,
    finished_at = r.finished_at,
    history = case
        when r.history is null then j.history
        when jsonb_array_length(j.history) >= $2 then (j.history - 0) || r.history
        else coalesce(j.history, '[]') || r.history
    end
from unnest($1::jsonb[]) as changed (job)
cross join lateral jsonb_populate_record(null::finalization_jobs, changed.job) as r
where j.user_id = r.user_id
  and j.job_id = r.job_id
  and j.version = r.version
returning j.job_id
