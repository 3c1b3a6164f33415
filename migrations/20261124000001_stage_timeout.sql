-- The failure code `stage_timeout`: new rows are checked from now on, the next file validates the others.
set local lock_timeout = '5s';

alter table finalization_jobs
    drop constraint codes_known,
    add constraint codes_known check (
        coalesce(dead_code, 'internal') in (
            'model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected', 'model_malformed', 'run_timeout',
            'stage_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content', 'invalid_job',
            'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'app_failed')
        and coalesce(last_code, 'internal') in (
            'model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected', 'model_malformed', 'run_timeout',
            'stage_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content', 'invalid_job',
            'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'app_failed')) not valid;
