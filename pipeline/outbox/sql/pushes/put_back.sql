-- Pushes that were taken in this transaction and cannot be sent by this process wait until $4. It is no try. What was written before $5
-- has waited long enough: it is exhausted.
update push_deliveries p
set status = case when p.created_at < $5 then 'exhausted' else 'pending' end,
    tries = p.tries - 1,
    sending_until = null,
    next_at = case when p.created_at >= $5 then $4::timestamptz end,
    finished_at = case when p.created_at < $5 then $6::timestamptz end
from unnest($1::text[], $2::text[], $3::text[]) t (user_id, subscription_id, delivery_id)
where p.user_id = t.user_id
  and p.subscription_id = t.subscription_id
  and p.delivery_id = t.delivery_id
  and p.status = 'sending'
