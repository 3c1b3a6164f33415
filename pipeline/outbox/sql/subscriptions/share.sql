-- Keeps a user's subscriptions from being removed, in the order in which they are locked.
select
from push_subscriptions
where user_id = $1
order by subscription_id
for key share
