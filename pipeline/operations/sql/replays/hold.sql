-- Locks a running operation that no other process is at. Unless an item is handled, it is due again $4 later.
update replay_operations
set lease_until = $3::timestamptz + $4::interval, executor = $2
where operation_id = (
    select operation_id
    from replay_operations
    where operation_id = $1 and status = 'running'
    for update skip locked
)
returning operator, reason, from_scratch, per_minute, in_flight, next_at
