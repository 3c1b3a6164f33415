-- Pages that read what they return. Where a page's order or its condition is not the index's, it walks past everything that
-- is not meant, and takes the longer the more of that has piled up.
set local lock_timeout = '5s';

-- Jobs that were parked longer than anybody waits: the head of the parked ones, not a walk past all that is due.
create index finalization_jobs_parked on finalization_jobs (reconcile_after_at, job_id) where status = 'blocked_byok';

-- What may go by its age alone stands in one index, and what may go only when its conversation says so in another: dead
-- letters that nobody settled are the oldest of all that is finished, and every batch would have to pass them.
create index finalization_jobs_over on finalization_jobs (finished_at)
    where status = 'completed' or settled_at is not null;
create index finalization_jobs_unsettled on finalization_jobs (finished_at, user_id, job_id)
    where status = 'dead_letter' and settled_at is null;
drop index finalization_jobs_finished;

-- The sweep turns pages over what stands in processing.
create index conversations_in_processing on conversations (updated_at, user_id, conversation_id)
    where status = 'processing';
drop index conversations_processing;

-- What waits for one endpoint, beside everybody's.
create index webhook_deliveries_waiting on webhook_deliveries (user_id, endpoint_id, next_at) where status = 'pending';

-- It was enabled when more was parked than is woken at once: claims wake the rest.
alter table webhook_endpoints add column waking boolean not null default false;
create index webhook_endpoints_waking on webhook_endpoints (user_id, endpoint_id) where waking;

-- The oldest event that somebody waits for, however many wait for their endpoints to be enabled.
create index webhook_deliveries_backlog on webhook_deliveries (occurred_at)
    where status in ('pending', 'sending') and next_at is distinct from 'infinity';
