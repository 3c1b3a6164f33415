insert into service_rounds (name, done_at, every_seconds)
values ('reconciler', clock_timestamp(), $1)
on conflict (name) do update
set done_at = excluded.done_at, every_seconds = excluded.every_seconds
returning done_at
