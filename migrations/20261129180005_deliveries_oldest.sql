-- no-transaction
-- The oldest event that can be delivered, however many wait for their endpoints to be enabled.
create index concurrently webhook_deliveries_oldest on webhook_deliveries (occurred_at)
    where finished_at is null and occurred_at > '-infinity' and next_at is distinct from 'infinity';
