-- A running operation is due again $2 later.
update replay_operations
set lease_until = statement_timestamp() + $2::interval
where operation_id = $1 and status = 'running'
