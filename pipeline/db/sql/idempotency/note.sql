-- A name that is a day old is free again.
insert into request_keys as r (user_id, route, request_key, fingerprint, made, created_at, running_until)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (user_id, route, request_key) do update
set fingerprint = excluded.fingerprint,
    made = excluded.made,
    created_at = excluded.created_at,
    running_until = excluded.running_until,
    status = null,
    answer = null
where r.created_at <= $8
