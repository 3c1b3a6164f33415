-- Seconds until a push of a message can be claimed, of users who have fewer than $1 tries under way.
with full_users as materialized (
    select user_id
    from chat_pushes
    where status = 'sending' and sending_until > statement_timestamp()
    group by user_id
    having count(*) >= $1)
select extract(epoch from least(
    (select min(next_at) from chat_pushes
     where status = 'pending' and user_id not in (select user_id from full_users)),
    (select min(sending_until) from chat_pushes
     where status = 'sending'
         and (sending_until > statement_timestamp() or user_id not in (select user_id from full_users))))
    - statement_timestamp())::float8
