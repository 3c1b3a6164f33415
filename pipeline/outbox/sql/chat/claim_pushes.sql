-- Claims due pushes, oldest first, so many of each user that $3 are under way at most; a sender that died is due again. Pushes
-- that another transaction holds are skipped.
with under_way as materialized (
    select user_id, count(*) as tries from chat_pushes where status = 'sending' and sending_until > $1 group by user_id),
due as materialized (
    select user_id, subscription_id, message_id, at,
        row_number() over (partition by user_id order by at, message_id, subscription_id) as place
    from (
        (select user_id, subscription_id, message_id, next_at as at from chat_pushes
            where status = 'pending' and next_at <= $1 order by next_at limit $5)
        union all
        (select user_id, subscription_id, message_id, sending_until from chat_pushes
            where status = 'sending' and sending_until <= $1 order by sending_until limit $5)) d),
picked as (
    select p.user_id, p.subscription_id, p.message_id
    from due d
    left join under_way u using (user_id)
    join chat_pushes p using (user_id, subscription_id, message_id)
    where d.place + coalesce(u.tries, 0) <= $3
        and ((p.status = 'pending' and p.next_at <= $1) or (p.status = 'sending' and p.sending_until <= $1))
    order by d.at, p.message_id limit $4
    for update of p skip locked)
update chat_pushes p set status = 'sending', epoch = p.epoch + 1, tries = p.tries + 1, sending_until = $2, next_at = null
from picked k
join push_subscriptions s using (user_id, subscription_id)
join chat_messages m using (user_id, message_id)
where p.user_id = k.user_id and p.subscription_id = k.subscription_id and p.message_id = k.message_id
returning p.user_id, p.subscription_id, p.message_id::text, p.epoch, p.tries, s.kind, s.url, s.p256dh, s.auth, m.app_id::text,
    p.app_name, p.target, m.text
