-- Reads jobs beside their readers and writers.
set local lock_timeout = '5s';

alter table finalization_jobs validate constraint codes_known;
