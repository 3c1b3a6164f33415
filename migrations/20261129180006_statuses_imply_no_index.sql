-- Indexes in whose place others stand now: what they hold was implied by statements that were not meant for them. A process of the
-- version before finds its jobs without them, by reading more.
set local lock_timeout = '5s';

drop index finalization_jobs_ready;
drop index finalization_jobs_age;
drop index one_live_job_per_conversation;
drop index webhook_deliveries_due;
drop index webhook_deliveries_pending_age;
drop index webhook_deliveries_backlog;
