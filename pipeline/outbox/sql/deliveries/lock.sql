-- Locks a delivery and says whether it has ended.
select finished_at is not null
from webhook_deliveries
where user_id = $1
  and endpoint_id = $2
  and delivery_id = $3
for update
