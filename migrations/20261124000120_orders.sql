-- What operators order of live jobs.
set local lock_timeout = '5s';

-- An operator ended the job's wait: its next run asks a model server even where that server's circuit is open. Null: no.
alter table finalization_jobs add column hurried boolean;
alter table finalization_jobs
    drop constraint codes_known,
    add constraint codes_known check (
        coalesce(dead_code, 'internal') in (
            'model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected', 'model_malformed', 'run_timeout',
            'stage_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content', 'invalid_job',
            'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'cancelled_by_operator', 'app_failed')
        and coalesce(last_code, 'internal') in (
            'model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected', 'model_malformed', 'run_timeout',
            'stage_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content', 'invalid_job',
            'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'cancelled_by_operator', 'app_failed')) not valid;
