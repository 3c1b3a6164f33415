update users
set deleting_since = coalesce(deleting_since, $2), updated_at = $2
where user_id = $1
