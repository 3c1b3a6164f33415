-- A user who was deleted may come back: epochs go on above the highest that was ever used.
insert into users (
    user_id, name, time_zone, language, requires_byok, apps, created_at, updated_at, first_epoch,
    limit_conversations_per_day, limit_bytes, limit_waiting_jobs
)
select $1, $2, coalesce($3, 'UTC'), coalesce($4, 'en'), coalesce($5, false), coalesce($6::text[], '{}'), $7, $7,
    coalesce(max(epoch), 0), $8, $9, $10
from epoch_floor
on conflict do nothing
