select *
from replay_operations
where operation_id = $1
