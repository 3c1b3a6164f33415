-- An enabled endpoint of which deliveries are still parked.
select user_id, endpoint_id
from webhook_endpoints
where waking
  and enabled
order by user_id, endpoint_id
limit 1
for no key update skip locked
