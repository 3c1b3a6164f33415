-- Deliveries that are due, or whose sender died, oldest first, without locks. Left out are endpoints ($2, $3) and users
-- ($5) that can take nothing now. The $6 oldest are looked at: what is behind them, waiting_endpoints.sql finds.
with passed as materialized (
    select * from unnest($2::text[], $3::text[]) p (user_id, endpoint_id)
),
passed_users as materialized (
    select * from unnest($5::text[]) p (user_id)
)
select user_id, endpoint_id as receiver_id, delivery_id
from (
    (select user_id, endpoint_id, delivery_id, next_at as at
     from (
         select user_id, endpoint_id, delivery_id, next_at
         from webhook_deliveries
         where status = 'pending'
           and delivery_id > ''
           and next_at <= $1
         order by next_at, delivery_id
         limit $6
     ) oldest
     where (user_id, endpoint_id) not in (select user_id, endpoint_id from passed)
       and user_id not in (select user_id from passed_users)
     order by next_at, delivery_id
     limit $4)
    union all
    (select user_id, endpoint_id, delivery_id, sending_until
     from webhook_deliveries
     where status = 'sending'
       and sending_until <= $1
       and (user_id, endpoint_id) not in (select user_id, endpoint_id from passed)
       and user_id not in (select user_id from passed_users)
     order by sending_until
     limit $4)
) due
order by at, delivery_id
limit $4
