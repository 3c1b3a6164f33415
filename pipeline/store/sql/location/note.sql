-- Also where nothing changed: it is known again. An older note never takes the place of a newer one.
insert into user_locations as l (user_id, latitude, longitude, address, google_place_id, location_type, noted_at)
select user_id, $2, $3, $4, $5, $6, coalesce($7, clock_timestamp()) from users where user_id = $1
on conflict (user_id) do update set latitude = excluded.latitude, longitude = excluded.longitude,
    address = excluded.address, google_place_id = excluded.google_place_id, location_type = excluded.location_type,
    noted_at = excluded.noted_at
where l.noted_at <= excluded.noted_at
