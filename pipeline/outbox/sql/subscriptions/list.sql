-- A user's subscriptions, newest first.
select subscription_id, kind, url, failing_since, last_success_at, created_at
from push_subscriptions
where user_id = $1
order by created_at desc, subscription_id
