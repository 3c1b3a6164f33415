-- Endpoints with tries under way, without locks.
select user_id, endpoint_id, enabled, disabled_reason, consecutive_failures, open_until, under_way
from (
    select user_id, endpoint_id, count(*) as under_way
    from webhook_deliveries
    where status = 'sending'
      and sending_until > $1
    group by user_id, endpoint_id
) busy
join webhook_endpoints using (user_id, endpoint_id)
