-- no-transaction
-- What waits for one subscription; only pending pushes have a `next_at`. The last condition always holds, and no other statement says
-- it; the statement that says it does not say `status`, which would let it read push_deliveries_due instead.
create index concurrently push_deliveries_waiting on push_deliveries (user_id, subscription_id, next_at)
    where next_at > '-infinity';
