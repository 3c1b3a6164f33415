select f.folder_id, f.name, f.description, f.color, f.icon, f.position, f.is_default, f.is_system, f.created_at, f.updated_at,
    -- What the list of conversations shows of it.
    (select count(*) from conversations c
     where c.user_id = f.user_id and c.folder_id = f.folder_id and c.status = 'completed' and not c.discarded)
        as conversation_count
from folders f
where f.user_id = $1
order by f.position, f.folder_id
