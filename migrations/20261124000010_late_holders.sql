-- The claim of the crash that was counted last: its holder may still prove that it lives, and the crash is taken back.
set local lock_timeout = '5s';

alter table finalization_jobs add column crashed_epoch bigint;
