-- What users deleted or reworded of these conversations, by its kind: the newest 500 of each.
select d.user_id, d.conversation_id, d.content
from unnest($1::text[], $2::text[]) c (user_id, conversation_id)
cross join lateral (
    select user_id, conversation_id, content
    from deleted_extractions e
    where e.user_id = c.user_id and e.conversation_id = c.conversation_id and e.kind = $3
    order by e.deleted_at desc, e.object_id
    limit 500
) d
