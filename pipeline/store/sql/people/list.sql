select person_id, name, created_at, updated_at
from people
where user_id = $1
order by created_at desc, person_id
limit $2 offset $3
