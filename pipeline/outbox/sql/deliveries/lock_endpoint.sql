-- The endpoint of a claimed delivery, with its health, and whether it still has the URL of the claim. `no key update` lets
-- completions go on writing deliveries to it.
select url = $3 as is_of_its_url, enabled, disabled_reason, failing_since, consecutive_failures, open_until, last_success_at,
       updated_at
from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
for no key update
