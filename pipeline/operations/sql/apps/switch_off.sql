update apps set switched_off_at = coalesce(switched_off_at, $2), switched_off_reason = $3, updated_at = $2,
    version = version + 1
where app_id = $1 returning user_id
