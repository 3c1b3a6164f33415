update replay_operations
set lease_until = statement_timestamp()
where operation_id = $1 and epoch = $2 and status = 'running'
