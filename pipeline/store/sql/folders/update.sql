update folders f
set updated_at = $3,
    name = coalesce($4, name),
    -- A description may be cleared: null is a value here, and $5 says whether one was sent.
    description = case when $5 then $6 else description end,
    color = coalesce($7, color),
    icon = coalesce($8, icon),
    position = coalesce($9, position)
where f.user_id = $1 and f.folder_id = $2
returning f.folder_id, f.name, f.description, f.color, f.icon, f.position, f.is_default, f.is_system, f.created_at, f.updated_at,
    -- What the list of conversations shows of it.
    (select count(*) from conversations c
     where c.user_id = f.user_id and c.folder_id = f.folder_id and c.status = 'completed' and not c.discarded)
        as conversation_count
