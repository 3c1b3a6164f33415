-- no-transaction
-- Users whose language or a name changed, until the words of all that they have are forgotten. It takes the place of users_forgetting.
create index concurrently users_forgetting_words on users (user_id)
    where memories_forgotten_to is not null or items_forgotten_to is not null or conversations_forgotten_to is not null;
