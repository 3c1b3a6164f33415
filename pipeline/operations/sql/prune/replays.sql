-- At most $2 bulk replays that ended before $1, with their lists.
delete from replay_operations
where operation_id = any (array(
    select operation_id
    from replay_operations
    where finished_at < $1
    order by created_at
    limit $2
    for update skip locked
))
