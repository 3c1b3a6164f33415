select photo_id, base64, description, created_at, discarded
from photos
where user_id = $1 and conversation_id = $2
order by created_at, photo_id
