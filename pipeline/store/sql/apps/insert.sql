insert into apps (user_id, app_id, name, description, visibility, home_url, manifest_url, webhook_url, setup_url,
    setup_completed_url, summary_prompt, manifest, manifest_sha256, manifest_fetched_at, chat_enabled, chat_target,
    chat_notify, mcp_url, mcp_token, secret, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, case when $12::text is not null then $20::timestamptz end,
    $14, $15, $16, $17, $18, $19, $20, $20)
