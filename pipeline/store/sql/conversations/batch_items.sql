-- The action items of a batch of conversations. A subquery with an `order by` is never merged into the join around it: it is
-- run for one conversation after the other, so that the rows of each keep their order.
select t.*, k.place
from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, place)
cross join lateral (
    select i.action_item_id, i.description, i.completed, i.created_at, i.updated_at, i.due_at, i.completed_at,
        i.conversation_id, i.position
    from action_items i
    where i.user_id = k.user_id and i.conversation_id = k.conversation_id
    order by i.created_at, i.position, i.action_item_id) t
