delete from folders
where user_id = $1 and folder_id = $2
