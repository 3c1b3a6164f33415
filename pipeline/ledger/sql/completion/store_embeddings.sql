-- $5 holds all vectors, one behind the other; $6 says where each ends.
insert into embeddings (user_id, conversation_id, model, vector, created_at)
select
    t.user_id,
    t.conversation_id,
    t.model,
    ($5::real[])[coalesce(lag(t.ends) over (order by t.place), 0) + 1:t.ends],
    $1
from unnest($2::text[], $3::text[], $4::text[], $6::integer[]) with ordinality t (
    user_id, conversation_id, model, ends, place
)
on conflict (user_id, conversation_id) do update
set model = excluded.model, vector = excluded.vector, created_at = excluded.created_at
