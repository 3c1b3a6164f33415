-- An endpoint whose waits are about to be ended: whether it is enabled, and whether its breaker is open. Locked before its deliveries.
select enabled as is_enabled, coalesce(open_until > $3, false) as is_open
from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
for no key update
