-- Reads jobs and actions beside their readers and writers.
set local lock_timeout = '5s';

alter table finalization_jobs validate constraint codes_known;
alter table operator_actions validate constraint action_known;
