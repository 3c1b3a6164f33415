-- Action items of one moment in the order in which they were said, or sent in one batch.
set local lock_timeout = '5s';

alter table action_items add column position integer not null default 0;
