-- Deliveries that were taken in this transaction and cannot be sent by this process wait until $4. It is no try. What happened before $5
-- has waited long enough: it is exhausted.
update webhook_deliveries d
set status = case when d.occurred_at < $5 then 'exhausted' else 'pending' end,
    tries = d.tries - 1,
    sending_until = null,
    next_at = case when d.occurred_at >= $5 then $4::timestamptz end,
    finished_at = case when d.occurred_at < $5 then $6::timestamptz end
from unnest($1::text[], $2::text[], $3::text[]) t (user_id, endpoint_id, delivery_id)
where d.user_id = t.user_id
  and d.endpoint_id = t.endpoint_id
  and d.delivery_id = t.delivery_id
  and d.status = 'sending'
