-- no-transaction
-- Completed conversations whose words are not in search_entries yet.
create index concurrently conversations_unindexed on conversations (user_id, conversation_id)
    where status = 'completed' and indexed_revision is null;
