-- Opens an order for many jobs, which are not listed yet.
insert into replay_operations (operation_id, status, operator, reason, filter, from_scratch, per_minute, in_flight, items,
    lease_until, next_at, created_at, updated_at)
values ($1, 'running', $2, $3, $4, $5, $6, $7, 0, $8, $8, $8, $8)
on conflict do nothing
