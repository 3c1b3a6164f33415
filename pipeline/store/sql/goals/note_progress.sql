insert into goal_progress (user_id, goal_id, day, value, recorded_at)
values ($1, $2, ($4::timestamptz at time zone 'UTC')::date, $3, $4)
on conflict (user_id, goal_id, day) do update
set value = excluded.value, recorded_at = excluded.recorded_at
