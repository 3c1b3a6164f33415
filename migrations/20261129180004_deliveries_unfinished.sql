-- no-transaction
-- The oldest deliveries that are not finished. The last condition always holds, and no other statement says it.
create index concurrently webhook_deliveries_unfinished on webhook_deliveries (occurred_at)
    where finished_at is null and occurred_at > '-infinity';
