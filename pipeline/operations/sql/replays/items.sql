select position, user_id, job_id, status, result, changed_at
from replay_items
where operation_id = $1 and position > $2
order by position
limit $3
