-- What a new memory may repeat: the newest of each user, and those of the conversations themselves.
select u.user_id, m.content
from unnest($1::text[]) u (user_id)
cross join lateral (
    select content
    from memories k
    where k.user_id = u.user_id
    order by k.created_at desc, k.memory_id
    limit 1000
) m
union
select k.user_id, k.content
from memories k
join unnest($2::text[], $3::text[]) c (user_id, conversation_id) using (user_id, conversation_id)
