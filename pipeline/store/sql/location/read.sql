select latitude, longitude, address, google_place_id, location_type from user_locations
where user_id = $1 and noted_at > statement_timestamp() - interval '30 minutes'
