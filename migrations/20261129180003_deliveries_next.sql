-- no-transaction
-- Deliveries that are due, the oldest first. The last condition always holds, and no other statement says it.
create index concurrently webhook_deliveries_next on webhook_deliveries (next_at, delivery_id)
    where status = 'pending' and delivery_id > '';
