-- Deliveries that were given up, the last first, from the place of a cursor on.
select user_id, endpoint_id, delivery_id, event, tries, last_status, last_error, finished_at
from webhook_deliveries
where status = 'exhausted'
  and ($1::timestamptz is null or (finished_at, delivery_id) < ($1, $2))
  and ($4::text is null or user_id = $4)
order by finished_at desc, delivery_id desc
limit $3
