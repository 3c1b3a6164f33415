-- Switches an app on ($3) or off. One that is off already keeps the moment since when, and gets the new reason.
update apps
set switched_off_at = case when not $3 then coalesce(switched_off_at, $2) end,
    switched_off_reason = case when not $3 then $4 end,
    updated_at = $2,
    version = version + 1
where app_id = $1
returning user_id
