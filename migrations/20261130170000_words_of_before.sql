-- How far the words of a user's memories and action items were forgotten since the user's language changed: those with greater ids may
-- still stand by the rules of the language before. Null: none do.
set local lock_timeout = '5s';

alter table users add column memories_forgotten_to text;
alter table users add column items_forgotten_to text;
