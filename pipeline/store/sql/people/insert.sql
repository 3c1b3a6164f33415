insert into people (user_id, person_id, name, created_at, updated_at)
values ($1, $2, $3, $4, $4)
returning person_id, name, created_at, updated_at
