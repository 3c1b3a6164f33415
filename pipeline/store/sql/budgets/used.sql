select case when day = $2 then conversations else 0 end, bytes
from user_usage
where user_id = $1
