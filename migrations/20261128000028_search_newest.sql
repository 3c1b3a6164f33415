-- no-transaction
-- A search for words that stand almost everywhere reads a user's newest passages alone.
create index concurrently search_entries_newest on search_entries (user_id, happened_at desc);
