update goals
set updated_at = $3,
    title = coalesce($4, title),
    goal_type = coalesce($5, goal_type),
    target_value = coalesce($6, target_value),
    min_value = coalesce($7, min_value),
    max_value = coalesce($8, max_value),
    -- A unit may be cleared: null is a value here, and $9 says whether one was sent.
    unit = case when $9 then $10 else unit end,
    is_active = coalesce($11, is_active)
where user_id = $1 and goal_id = $2
returning goal_id, title, goal_type, target_value, current_value, min_value, max_value, unit, is_active,
    created_at, updated_at
