insert into conversations (
    user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, source, status,
    geolocation, private_text, text_source, text_source_spec, client_session_id, client_device_id,
    client_platform, finalization_revision, last_append_at, counted_bytes
)
values ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
on conflict (user_id, conversation_id) do nothing
