select goal_id, title, goal_type, target_value, current_value, min_value, max_value, unit, is_active,
    created_at, updated_at
from goals
where user_id = $1 and goal_id = $2
