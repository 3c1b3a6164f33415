-- Seconds until a reminder fires or a push can be claimed, of subscriptions with fewer than $1 tries under way.
with full_subscriptions as materialized (
    select user_id, subscription_id
    from push_deliveries
    where status = 'sending'
      and sending_until > statement_timestamp()
    group by user_id, subscription_id
    having count(*) >= $1
)
select extract(epoch from least(
    (select min(fire_at) from reminders where fire_at is not null),
    (select min(next_at)
     from push_deliveries
     where status = 'pending'
       and (user_id, subscription_id) not in (select user_id, subscription_id from full_subscriptions)),
    (select min(sending_until)
     from push_deliveries
     where status = 'sending'
       and (sending_until > statement_timestamp()
            or (user_id, subscription_id) not in (select user_id, subscription_id from full_subscriptions)))
) - clock_timestamp())::float8
