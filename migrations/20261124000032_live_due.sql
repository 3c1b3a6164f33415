-- no-transaction
-- Live conversations, by the time at which they are to be processed.
create index concurrently conversations_live on conversations (process_after, user_id, conversation_id)
    where status = 'in_progress' and process_after is not null;
