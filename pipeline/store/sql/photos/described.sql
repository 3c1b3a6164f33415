select photo_id, description
from photos
where user_id = $1 and conversation_id = $2 and description is not null
order by created_at, photo_id
