-- Takes locked pushes until $4, and answers what is to be sent where: the words are those of the action item, or of the message, now.
update push_deliveries p
set status = 'sending',
    epoch = p.epoch + 1,
    tries = p.tries + 1,
    sending_until = $4,
    next_at = null
from unnest($1::text[], $2::text[], $3::text[]) as t (user_id, subscription_id, delivery_id)
join push_deliveries q using (user_id, subscription_id, delivery_id)
join push_subscriptions s using (user_id, subscription_id)
left join action_items a on a.user_id = q.user_id and a.action_item_id = q.action_item_id
left join chat_messages m on m.user_id = q.user_id and m.message_id = q.message_id
where p.user_id = t.user_id
  and p.subscription_id = t.subscription_id
  and p.delivery_id = t.delivery_id
returning p.user_id, p.subscription_id as receiver_id, p.delivery_id, p.epoch, p.tries, s.kind, s.url, s.p256dh, s.auth,
          p.action_item_id, a.description, p.due_at,
          p.message_id::text as message_id, m.app_id::text as app_id, p.app_name, p.target, m.text
