update conversations
set status = 'processing',
    finalization_revision = finalization_revision + 1,
    updated_at = $3,
    live_process = null,
    external_data = case when $4::jsonb is null then external_data else coalesce(external_data, '{}') || $4 end
where user_id = $1 and conversation_id = $2
returning finalization_revision
