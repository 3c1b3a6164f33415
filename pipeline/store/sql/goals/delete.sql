delete from goals
where user_id = $1 and goal_id = $2
