-- no-transaction
-- As that of memories.
create index concurrently action_items_words on action_items using gin (words) with (gin_pending_list_limit = 512)
    where words is not null;
