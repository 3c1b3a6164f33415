-- Deliveries that were given up, newest first, for operators: only giving one up writes it.
set local lock_timeout = '5s';

create index webhook_deliveries_exhausted on webhook_deliveries (finished_at desc, delivery_id desc)
    where status = 'exhausted';
create index webhook_endpoints_troubled on webhook_endpoints (updated_at desc)
    where not enabled or failing_since is not null;
