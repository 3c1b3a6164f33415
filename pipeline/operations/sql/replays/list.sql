select *
from replay_operations
order by created_at desc, operation_id
limit $1
