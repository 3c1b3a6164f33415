-- The state of an endpoint, locked.
select enabled, disabled_reason
from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
for no key update
