-- no-transaction
-- At most one job of a conversation is not finished. The condition names no status, so that no statement about a status implies it.
create unique index concurrently one_unfinished_job_per_conversation on finalization_jobs (user_id, conversation_id)
    where finished_at is null;
