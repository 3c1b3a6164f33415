-- Rows are locked in the order in which all lock them.
with judged as (
    select t.*
    from conversations c
    join unnest($2::text[], $3::text[], $4::text[]) t (user_id, conversation_id, engine)
        using (user_id, conversation_id)
    order by c.user_id, c.conversation_id
    for no key update of c
)
update conversations c
set status = 'completed',
    updated_at = $1,
    discarded_by_failure = false,
    discarded = case when c.discarded_by_person then c.discarded else true end,
    engine = j.engine,
    indexed_revision = null
from judged j
where c.user_id = j.user_id and c.conversation_id = j.conversation_id
