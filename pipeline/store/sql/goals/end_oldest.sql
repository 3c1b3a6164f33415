-- All but the newest $4 active goals end, beside $2.
update goals
set is_active = false, updated_at = $3
where user_id = $1
  and goal_id in (
      select goal_id
      from goals
      where user_id = $1 and is_active and goal_id <> $2
      order by created_at desc, goal_id desc
      offset $4
  )
