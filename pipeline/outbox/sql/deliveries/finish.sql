-- How a try of a delivery ended, under the claim's epoch. The body goes with a delivered or cancelled one; what is to be tried again
-- at an endpoint that was disabled meanwhile waits for it. $10 is the entry of the history, of which a row keeps $11.
update webhook_deliveries d
set status = $5,
    sending_until = null,
    next_at = case when $6::timestamptz is null or e.enabled then $6 else 'infinity' end,
    last_status = coalesce($7, case when $5 = 'cancelled' then last_status end),
    last_error = $8,
    finished_at = case when $5 <> 'pending' then $9::timestamptz end,
    body = case when $5 in ('delivered', 'cancelled') then null else body end,
    history = case
        when $10::jsonb is null then history
        when jsonb_array_length(history) >= $11 then (history - 0) || $10
        else coalesce(history, '[]') || $10
    end
from webhook_endpoints e
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = $3
  and d.epoch = $4
  and d.status = 'sending'
  and e.user_id = d.user_id
  and e.endpoint_id = d.endpoint_id
