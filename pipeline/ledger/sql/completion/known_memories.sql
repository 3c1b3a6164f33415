select u.user_id, m.content
from unnest($1::text[]) u (user_id)
cross join lateral (
    select content
    from memories k
    where k.user_id = u.user_id
    order by k.created_at desc, k.memory_id
    limit 1000
) m
