update goals
set current_value = $3, updated_at = $4
where user_id = $1 and goal_id = $2
returning goal_id, title, goal_type, target_value, current_value, min_value, max_value, unit, is_active,
    created_at, updated_at
