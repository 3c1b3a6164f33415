-- Tries under way at these endpoints.
select user_id, endpoint_id as receiver_id, count(*) as tries
from webhook_deliveries
where status = 'sending'
  and sending_until > $3
  and (user_id, endpoint_id) in (select * from unnest($1::text[], $2::text[]))
group by user_id, endpoint_id
