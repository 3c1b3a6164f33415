-- A page of users behind $1, in the order of their ids.
select user_id, time_zone, requires_byok, deleting_since, created_at
from users
where $1::text is null or user_id > $1
order by user_id
limit $2
