delete from people
where user_id = $1 and person_id = $2
