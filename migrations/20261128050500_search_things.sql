set local lock_timeout = '5s';

-- What a search compares of a text, by the rules of the user's language, and one lexeme that says whose it is, as in search_entries.
-- Null: to be indexed (again); until then a search computes it.
alter table memories add column words tsvector;
alter table action_items add column words tsvector;
