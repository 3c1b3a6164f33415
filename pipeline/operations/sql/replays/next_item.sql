select position, job_id, generation
from replay_items
where operation_id = $1 and status = 'waiting'
order by position
limit 1
