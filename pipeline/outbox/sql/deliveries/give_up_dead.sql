-- Deliveries whose sender died in their last try ($2) are exhausted.
with dead as (
    select user_id, endpoint_id, delivery_id
    from webhook_deliveries
    where status = 'sending'
      and sending_until <= $1
      and tries > $2
    limit $3
    for update skip locked
)
update webhook_deliveries d
set status = 'exhausted',
    finished_at = $1,
    sending_until = null,
    last_error = 'abandoned'
from dead
where d.user_id = dead.user_id
  and d.endpoint_id = dead.endpoint_id
  and d.delivery_id = dead.delivery_id
