-- How many subscriptions a user has besides $2.
select count(*)
from push_subscriptions
where user_id = $1
  and subscription_id <> $2
