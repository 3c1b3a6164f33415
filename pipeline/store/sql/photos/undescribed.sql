-- The oldest photos without a description: at most $3, of at most $4 bytes together.
select photo_id, base64
from (
    select photo_id, base64, created_at, row_number() over oldest as place,
        sum(octet_length(base64)) over oldest as bytes
    from photos
    where user_id = $1 and conversation_id = $2 and description is null
    window oldest as (order by created_at, photo_id rows unbounded preceding)
) waiting
where place <= $3 and bytes <= $4
order by created_at, photo_id
