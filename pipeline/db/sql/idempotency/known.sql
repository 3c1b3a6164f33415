select fingerprint, made, running_until, status, answer, clock_timestamp() as now
from request_keys
where user_id = $1
  and route = $2
  and request_key = $3
  and created_at > statement_timestamp() - $4::interval
