-- Without picture $3, if there is one.
select count(*) as photos, coalesce(sum(octet_length(base64)), 0)::bigint as bytes
from photos
where user_id = $1 and conversation_id = $2
  and photo_id is distinct from $3
