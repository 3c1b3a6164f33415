-- Locks pushes ($2, $3, $4) that are still due, or whose sender died, in this order; locked rows are skipped. A reminder is open while
-- its item is to be done by the same date; the push of a message always is.
select p.user_id, p.subscription_id as receiver_id, p.delivery_id,
       p.action_item_id is null or not a.completed and a.due_at is not distinct from p.due_at as is_open
from unnest($2::text[], $3::text[], $4::text[]) with ordinality due (user_id, subscription_id, delivery_id, place)
join push_deliveries p using (user_id, subscription_id, delivery_id)
left join action_items a on a.user_id = p.user_id and a.action_item_id = p.action_item_id
where case p.status when 'pending' then p.next_at when 'sending' then p.sending_until end <= $1
order by due.place
for update of p skip locked
