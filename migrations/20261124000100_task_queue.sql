-- What was handed to the task queue (dispatch mode `cloud_tasks`). All of it is empty in other modes; old processes write rows without it.
set local lock_timeout = '5s';

alter table finalization_jobs
    -- The newest dispatch for which a named task was created.
    add column handed_dispatch bigint,
    add column handed_at timestamptz,
    -- Nobody tries to hand it over before: a process is at it, or the last try failed.
    add column hand_after timestamptz,
    -- Tries since the last success.
    add column hand_tries integer;
