update people
set name = $3, updated_at = statement_timestamp()
where user_id = $1 and person_id = $2
returning person_id, name, created_at, updated_at
