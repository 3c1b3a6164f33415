-- no-transaction
-- A search for words that stand almost everywhere reads a user's newest passages, and stops when there are enough.
create index concurrently search_entries_newest on search_entries (user_id, happened_at desc);
