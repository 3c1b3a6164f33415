delete from user_locations
where user_id = $1
