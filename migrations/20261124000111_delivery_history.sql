-- The newest tries of a delivery, one line each: number, microseconds, status or `-`, error class or `-`.
set local lock_timeout = '5s';

alter table webhook_deliveries add column history text[] not null default '{}';
