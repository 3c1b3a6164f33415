insert into folders as f (user_id, folder_id, name, description, color, icon, position, created_at, updated_at)
select u.user_id, $2, $3, $4, coalesce($5, '#6B7280'), coalesce($6, 'folder'),
    -- Behind the last one. The caller holds the user's row, so that two at once get two positions.
    coalesce(
        $7,
        (select least(max(o.position)::bigint + 1, 2147483647)::integer from folders o where o.user_id = $1),
        0),
    $8, $8
from users u
where u.user_id = $1
returning f.folder_id, f.name, f.description, f.color, f.icon, f.position, f.is_default, f.is_system, f.created_at, f.updated_at,
    -- Nothing is filed in it yet.
    0::bigint as conversation_count
