-- A push of the message to each of the user's subscriptions. A subscription that is being removed is waited for, and then nothing is
-- written for it.
insert into push_deliveries (user_id, subscription_id, delivery_id, message_id, app_name, target, status, next_at, created_at)
select $1, s.subscription_id, 'chat_' || $2, $2::uuid, $3, $4, 'pending', $5, $5
from push_subscriptions s
where s.user_id = $1
for key share of s
on conflict do nothing
