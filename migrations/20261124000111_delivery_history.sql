-- The newest tries of a delivery, one line each: number, microseconds, status or `-`, error class or `-`. Null: none yet, so
-- that a row that is not tried is not wider than before.
set local lock_timeout = '5s';

alter table webhook_deliveries add column history text[];
