select day, value, recorded_at
from goal_progress
where user_id = $1
  and goal_id = $2
  and day > (statement_timestamp() at time zone 'UTC')::date - $3::integer
order by day desc
