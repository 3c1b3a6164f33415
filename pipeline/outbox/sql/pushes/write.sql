-- Writes a push for each of a user's subscriptions and each item; one that was written before stays as it is.
insert into push_deliveries (
    user_id,
    subscription_id,
    delivery_id,
    action_item_id,
    notice,
    due_at,
    status,
    next_at,
    created_at
)
select
    $1,
    s.subscription_id,
    t.delivery_id,
    t.item,
    $2,
    t.due_at,
    'pending',
    $3,
    $3
from push_subscriptions s
cross join unnest($4::text[], $5::text[], $6::timestamptz[]) t (delivery_id, item, due_at)
where s.user_id = $1
for key share of s
on conflict do nothing
