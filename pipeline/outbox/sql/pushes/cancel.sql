-- Cancels locked pushes.
update push_deliveries p
set status = 'cancelled',
    next_at = null,
    sending_until = null,
    finished_at = $4
from unnest($1::text[], $2::text[], $3::text[]) as t (user_id, subscription_id, delivery_id)
where p.user_id = t.user_id
  and p.subscription_id = t.subscription_id
  and p.delivery_id = t.delivery_id
