-- What users deleted or reworded of these conversations, and, since each of these was first admitted, of their others, which may have
-- said the same: by its kind, the newest 500 for each, its own first.
select c.user_id, c.conversation_id, d.content
from unnest($1::text[], $2::text[]) c (user_id, conversation_id)
cross join lateral (
    select e.content
    from deleted_extractions e
    where e.user_id = c.user_id
      and e.kind = $3
      and (
          e.conversation_id = c.conversation_id
          or e.deleted_at > (
              select min(f.admitted_at)
              from finalization_admissions f
              where f.user_id = c.user_id and f.conversation_id = c.conversation_id
          )
      )
    order by e.conversation_id <> c.conversation_id, e.deleted_at desc, e.object_id
    limit 500
) d
