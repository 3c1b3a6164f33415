select count(*), coalesce(sum(octet_length(base64)), 0)::bigint
from photos
where user_id = $1 and conversation_id = $2
