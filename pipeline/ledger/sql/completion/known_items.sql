-- What a new action item may repeat: the user's newest of two days, and those of the conversation.
select u.user_id, i.action_item_id, i.description
from unnest($1::text[]) u (user_id)
cross join lateral (
    select action_item_id, description, created_at
    from action_items a
    where a.user_id = u.user_id and a.created_at > $2::timestamptz - interval '2 days'
    order by a.created_at desc
    limit 500
) i
union
select a.user_id, a.action_item_id, a.description
from action_items a
join unnest($3::text[], $4::text[]) c (user_id, conversation_id) using (user_id, conversation_id)
