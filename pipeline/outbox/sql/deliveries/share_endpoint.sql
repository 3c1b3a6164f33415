select enabled
from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
for share
