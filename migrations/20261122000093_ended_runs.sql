-- What a process said that it ended: a report whose answer was lost is repeated and adds nothing.
set local lock_timeout = '5s';

-- Since it began: completed, failed, released, lost, and then by their length, as in `service_minutes`. Empty for one that
-- never said so.
alter table service_processes add column ended bigint[] not null default '{}';
