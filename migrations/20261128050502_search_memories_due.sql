-- no-transaction
-- Memories that are not indexed yet.
create index concurrently memories_unindexed on memories (user_id, memory_id) where words is null;
