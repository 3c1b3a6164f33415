-- Live conversations: which socket owns one, when something was last said in it, and when it is to be processed though
-- nobody asks for it.
set local lock_timeout = '5s';

-- Raised by every socket that opens the conversation: an append of an older one is refused. Null: not live.
alter table conversations add column live_epoch bigint;
-- The silence that ends it, in seconds.
alter table conversations add column live_timeout integer;
alter table conversations add column last_activity_at timestamptz;
alter table conversations add column process_after timestamptz;
-- The process whose socket owns it, and since when; null when that socket was closed.
alter table conversations add column live_process text;
alter table conversations add column live_since timestamptz;

alter table finalization_jobs drop constraint origin_known;
alter table finalization_jobs add constraint origin_known
    check (origin in ('finalize', 'create', 'reprocess', 'live')) not valid;
