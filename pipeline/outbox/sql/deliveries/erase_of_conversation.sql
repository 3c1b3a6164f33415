with kept as (
    select user_id, endpoint_id, delivery_id
    from webhook_deliveries
    where user_id = $1 and conversation_id = $3 and subject_id = any($2) and body is not null
    -- Locked in the order in which a recovery locks what it makes due again.
    order by occurred_at, delivery_id
    for update)
update webhook_deliveries d
set body = null
from kept k
where d.user_id = k.user_id and d.endpoint_id = k.endpoint_id and d.delivery_id = k.delivery_id
