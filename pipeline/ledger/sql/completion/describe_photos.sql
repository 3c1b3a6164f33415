update photos p
set description = t.description
from unnest($1::text[], $2::text[], $3::text[], $4::text[]) t (user_id, conversation_id, photo_id, description)
where p.user_id = t.user_id
  and p.conversation_id = t.conversation_id
  and p.photo_id = t.photo_id
