update action_items a
set due_at = t.due_at, updated_at = $1
from unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::timestamptz[]) t (
    user_id, conversation_id, revision, id, due_at
)
where a.user_id = t.user_id
  and a.action_item_id = t.id
  and a.due_at is null
  and not a.completed
  -- A date that the user cleared does not come back from the conversation that it came from, whichever the item came from.
  and not (
      a.by_person
      and exists (
          select from finalization_admissions e
          where e.user_id = t.user_id
            and e.conversation_id = t.conversation_id
            and e.revision < t.revision
            and e.admitted_at < a.updated_at
      )
  )
returning a.user_id, a.action_item_id, a.due_at
