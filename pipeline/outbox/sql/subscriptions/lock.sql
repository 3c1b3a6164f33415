-- Locks a subscription; no row: it was removed.
select true
from push_subscriptions
where user_id = $1
  and subscription_id = $2
for update
