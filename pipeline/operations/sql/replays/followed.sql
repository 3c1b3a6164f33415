select operation_id
from replay_operations
where completed + died_again + case when $1 then 0 else parked end < replayed
for update skip locked
