-- The job table is the queue: what is queued there is claimed from there, and no second table announces it.
set local lock_timeout = '5s';

drop table finalization_bells;
alter table finalization_jobs drop column unrung;
alter table finalization_jobs rename column ring to dispatch;
alter table finalization_jobs rename column look_at to next_check_at;
-- One user's turn in a queue: the oldest job of the next user is one look-up, however many jobs a user has.
create index finalization_jobs_by_user on finalization_jobs (queue, user_id, ready_at, job_id) where status = 'queued';
-- Queued jobs are the queue itself; leases and parked jobs have indexes of their own.
drop index finalization_jobs_due;
