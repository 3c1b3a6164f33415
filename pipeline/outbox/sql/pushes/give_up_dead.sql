-- Pushes whose sender died in their last try ($2) are exhausted.
with dead as (
    select user_id, subscription_id, delivery_id
    from push_deliveries
    where status = 'sending'
      and sending_until <= $1
      and tries > $2
    limit $3
    for update skip locked
)
update push_deliveries p
set status = 'exhausted',
    finished_at = $1,
    sending_until = null,
    last_error = 'lost'
from dead d
where p.user_id = d.user_id
  and p.subscription_id = d.subscription_id
  and p.delivery_id = d.delivery_id
