-- Whether there is such a user.
select exists (select from users where user_id = $1)
