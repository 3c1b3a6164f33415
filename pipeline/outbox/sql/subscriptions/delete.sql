-- Deletes a subscription with its pushes.
delete from push_subscriptions
where user_id = $1
  and subscription_id = $2
