update replay_operations
set status = 'done', finished_at = $2, updated_at = $2
where operation_id = $1
