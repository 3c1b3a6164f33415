-- A test delivery ($4), due at $6, or, at a disabled endpoint, when that is enabled. A repeat writes nothing.
insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at, created_at)
values ($1, $2, $3, $4, 'pending', case when $5 then $6::timestamptz else 'infinity' end, $6, $6)
on conflict do nothing
