-- A push failed at $3; returns since when they do.
update push_subscriptions
set failing_since = coalesce(failing_since, $3)
where user_id = $1
  and subscription_id = $2
returning failing_since
