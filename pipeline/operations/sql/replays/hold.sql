update replay_operations
set lease_until = $3::timestamptz + $4::interval
where operation_id = $1 and epoch = $2 and status = 'running'
returning operator, reason, from_scratch, per_minute, in_flight, next_at
