insert into folders (user_id, folder_id, name, description, position, is_system, created_at, updated_at)
select $1, t.folder_id, t.name, t.description, t.ordinal::integer - 1, true, $5, $5
from unnest($2::text[], $3::text[], $4::text[]) with ordinality t (folder_id, name, description, ordinal)
