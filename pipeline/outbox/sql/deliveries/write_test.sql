-- A test delivery ($4), due at $5. A repeat writes nothing.
insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at, created_at)
values ($1, $2, $3, $4, 'pending', $5, $5, $5)
on conflict do nothing
