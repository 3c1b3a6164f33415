-- A page of pushes that are due, or whose sender died, oldest first; locked rows are skipped. Left out are subscriptions ($2, $3) and
-- users ($5) that can take nothing now. A reminder is open while its item is to be done by the same date; the push of a message
-- always is.
with passed as materialized (
    select * from unnest($2::text[], $3::text[]) p (user_id, subscription_id)
),
passed_users as materialized (
    select * from unnest($5::text[]) p (user_id)
)
select p.user_id, p.subscription_id, p.delivery_id,
       p.action_item_id is null or not a.completed and a.due_at is not distinct from p.due_at as is_open
from (
    (select user_id, subscription_id, delivery_id, next_at as at
     from push_deliveries
     where status = 'pending'
       and next_at <= $1
       and (user_id, subscription_id) not in (select user_id, subscription_id from passed)
       and user_id not in (select user_id from passed_users)
     order by next_at
     limit $4)
    union all
    (select user_id, subscription_id, delivery_id, sending_until
     from push_deliveries
     where status = 'sending'
       and sending_until <= $1
       and (user_id, subscription_id) not in (select user_id, subscription_id from passed)
       and user_id not in (select user_id from passed_users)
     order by sending_until
     limit $4)
) due
join push_deliveries p using (user_id, subscription_id, delivery_id)
left join action_items a on a.user_id = p.user_id and a.action_item_id = p.action_item_id
-- Asked again of the row itself, which another claim may have taken since the page was read.
where case p.status when 'pending' then p.next_at when 'sending' then p.sending_until end <= $1
order by due.at, p.delivery_id
limit $4
for update of p skip locked
