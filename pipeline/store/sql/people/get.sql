select person_id, name, created_at, updated_at
from people
where user_id = $1 and person_id = $2
