-- Has a user's conversations indexed anew by and by where a person gets another name, or none.
-- $1 user, $2 person, $3 name
update users
set conversations_forgotten_to = ''
where user_id = $1
  and exists (
      select from people
      where user_id = $1 and person_id = $2 and name is distinct from $3::text
  )
