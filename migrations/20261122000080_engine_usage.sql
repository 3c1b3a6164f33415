-- What runs spent at model servers: counts by run and stage, and which engine it was. Never a person's words.
set local lock_timeout = '5s';

-- A row per stage of a run that asked a server; the built-in engine leaves none. Counts only grow within a run, so
-- that a write whose answer was lost can be repeated. They stay when checkpoints go: what was paid was paid.
create table engine_usage (
    user_id           text    not null,
    job_id            text    not null,
    -- The claim of the run.
    epoch             bigint  not null,
    stage             text    not null,
    -- Engine, model, host and version of the prompts.
    engine            text    not null,
    calls             bigint  not null,
    prompt_tokens     bigint  not null,
    -- A part of the prompt's.
    cached_tokens     bigint  not null,
    completion_tokens bigint  not null,
    constraint engine_usage_pkey primary key (user_id, job_id, epoch, stage),
    constraint usage_job_fkey foreign key (user_id, job_id) references finalization_jobs on delete cascade,
    constraint usage_is_counted check (calls >= 0 and prompt_tokens >= 0 and cached_tokens >= 0
        and completion_tokens >= 0)
);
