-- The running operation that is due next behind $1, in the order of their ids and then from their beginning: they take turns.
select operation_id
from replay_operations
where status = 'running' and lease_until <= statement_timestamp()
order by operation_id <= $1, operation_id
limit 1
