-- A later revision says these again: they keep their ids, and where it says nothing new, the time of their last change.
update memories m
set content = t.content,
    words = case when m.content = t.content then m.words end,
    category = t.category,
    revision = $2,
    updated_at = case when m.content = t.content and m.category = t.category then m.updated_at else $3 end
from unnest($4::text[], $5::text[], $6::text[]) t (id, content, category)
where m.user_id = $1 and m.memory_id = t.id
