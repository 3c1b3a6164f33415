-- no-transaction
-- A search finds all memories with a word. The pending list is read by every search: it is kept short.
create index concurrently memories_words on memories using gin (words) with (gin_pending_list_limit = 512) where words is not null;
