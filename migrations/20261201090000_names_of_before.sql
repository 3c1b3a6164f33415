-- How far a user's conversations were indexed anew since a name that they show changed: those with greater ids may still be found by
-- the name before. Null: none are.
set local lock_timeout = '5s';

alter table users add column conversations_forgotten_to text;
