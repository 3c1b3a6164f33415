select limit_conversations_per_day, limit_bytes, limit_waiting_jobs
from users
where user_id = $1
