with doomed as (
    select user_id, subscription_id, message_id from chat_pushes
    where finished_at < $1 order by finished_at limit $2 for update skip locked)
delete from chat_pushes p using doomed d
where p.user_id = d.user_id and p.subscription_id = d.subscription_id and p.message_id = d.message_id
