-- A push got through at $3.
update push_subscriptions
set last_success_at = $3,
    failing_since = null
where user_id = $1
  and subscription_id = $2
