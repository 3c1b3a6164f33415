-- A push of the message to each of the user's subscriptions.
insert into chat_pushes (user_id, subscription_id, message_id, app_name, target, status, next_at, created_at)
select $1, s.subscription_id, $2::uuid, $3, $4, 'pending', $5, $5
from push_subscriptions s where s.user_id = $1
for key share of s
on conflict do nothing
