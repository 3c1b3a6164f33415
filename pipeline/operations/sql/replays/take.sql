update replay_operations
set epoch = epoch + 1,
    executor = $1,
    updated_at = statement_timestamp(),
    lease_until = statement_timestamp() + $2::interval
where operation_id = (
    select operation_id
    from replay_operations
    where status = 'running' and lease_until <= statement_timestamp()
    order by created_at
    limit 1
    for update skip locked
)
returning operation_id, epoch
