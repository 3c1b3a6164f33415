with item as (
    update replay_items
    set status = $3, result = $4, changed_at = $5
    where operation_id = $1 and position = $2
)
update replay_operations
set updated_at = $5, lease_until = $5, replayed = replayed + $6, refused = refused + 1 - $6, next_at = $7
where operation_id = $1
