-- The state of an endpoint, locked before its deliveries: whether it is enabled, why not, and whether its breaker is open.
select enabled as is_enabled, disabled_reason, coalesce(open_until > $3, false) as is_open
from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
for no key update
