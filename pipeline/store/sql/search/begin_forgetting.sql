-- Has what a user has behind the newest forgotten by and by: memories ($2), action items ($3).
update users
set memories_forgotten_to = case when $2 then '' else memories_forgotten_to end,
    items_forgotten_to = case when $3 then '' else items_forgotten_to end
where user_id = $1
