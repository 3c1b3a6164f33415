update users
set updated_at = $2,
    name = case when $8 then $3 else name end,
    -- Searches find what the user said by the name.
    conversations_forgotten_to = case when $8 and name is distinct from $3 then '' else conversations_forgotten_to end,
    time_zone = coalesce($4, time_zone),
    language = coalesce($5, language),
    requires_byok = coalesce($6, requires_byok),
    apps = coalesce($7, apps),
    limit_conversations_per_day = case when $9 then $10 else limit_conversations_per_day end,
    limit_bytes = case when $11 then $12 else limit_bytes end,
    limit_waiting_jobs = case when $13 then $14 else limit_waiting_jobs end
where user_id = $1
returning user_id, name, time_zone, language, requires_byok, apps, created_at
