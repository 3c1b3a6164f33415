-- no-transaction
-- Users whose language changed, until the words of all that they have are forgotten.
create index concurrently users_forgetting on users (user_id) where memories_forgotten_to is not null or items_forgotten_to is not null;
