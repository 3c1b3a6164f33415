-- Writes an app whole, over the version that was read before its manifest was fetched.
update apps set name = $3, description = $4, visibility = $5, home_url = $6, manifest_url = $7, webhook_url = $8,
    setup_url = $9, setup_completed_url = $10, summary_prompt = $11, manifest = $12, manifest_sha256 = $13,
    manifest_fetched_at = case when $12::text is not null then $19::timestamptz end, chat_enabled = $14, chat_target = $15,
    chat_notify = $16, mcp_url = $17, mcp_token = $18, updated_at = $19, version = version + 1
where user_id = $1 and app_id = $2 and version = $20
