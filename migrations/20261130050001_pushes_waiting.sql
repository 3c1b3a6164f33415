-- no-transaction
-- What waits for one subscription.
create index concurrently push_deliveries_waiting on push_deliveries (user_id, subscription_id, next_at)
    where status = 'pending' and delivery_id > '';
