-- How many seconds the running turn of a thread may still take.
-- $1 user, $2 thread
select greatest(1, ceil(extract(epoch from running_until - clock_timestamp())))::bigint
from chat_turns where user_id = $1 and thread = $2 and status = 'running'
