select $2::text is null or exists (select from people where user_id = $1 and person_id = $2)
