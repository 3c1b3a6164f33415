-- $1 and $2 name the row; there is no previous secret.
update push_subscriptions
set auth = $3
where user_id = $1
  and subscription_id = $2
  and $4::text is null
