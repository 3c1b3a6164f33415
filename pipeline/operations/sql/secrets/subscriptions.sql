select user_id, subscription_id as id, auth as secret, null::text as previous_secret from push_subscriptions
where (user_id, subscription_id) > ($2, $3) and auth is not null and not starts_with(auth, $1)
order by user_id, subscription_id limit $4
for no key update skip locked
