-- The longest time that the reconciler's schedule leaves between two rounds: whether it is silent depends on it.
set local lock_timeout = '5s';

alter table service_rounds add column every_seconds integer;
