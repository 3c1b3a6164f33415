-- A later revision says these again: they keep their ids, and where it says nothing new, the time of their last change.
update action_items a
set description = t.description,
    words = case when a.description = t.description then a.words end,
    due_at = t.due_at,
    revision = $2,
    position = t.position,
    updated_at = case
        when a.description = t.description and a.due_at is not distinct from t.due_at then a.updated_at
        else $3
    end
from unnest($4::text[], $5::text[], $6::timestamptz[], $7::integer[]) t (id, description, due_at, position)
where a.user_id = $1 and a.action_item_id = t.id
