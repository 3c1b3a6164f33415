insert into goals (user_id, goal_id, title, goal_type, target_value, current_value, min_value, max_value, unit,
    created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
returning goal_id, title, goal_type, target_value, current_value, min_value, max_value, unit, is_active,
    created_at, updated_at
