-- Locks endpoints in the order of their keys; `no key update` lets completions go on writing deliveries to them.
select user_id, endpoint_id, enabled, disabled_reason, consecutive_failures, open_until
from webhook_endpoints
where (user_id, endpoint_id) in (select * from unnest($1::text[], $2::text[]))
order by user_id, endpoint_id
for no key update skip locked
