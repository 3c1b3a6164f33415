update apps set switched_off_at = null, switched_off_reason = null, updated_at = $2, version = version + 1
where app_id = $1 returning user_id
