-- The ledger of jobs, their bells and checkpoints. The constraints say what `pipeline/job` can express.
set local lock_timeout = '5s';

create table finalization_jobs (
    user_id            text        not null,
    job_id             text        not null,
    conversation_id    text        not null,
    revision           bigint      not null,
    -- Raised by every store; a store is a compare-and-set on it.
    version            bigint      not null default 1,
    origin             text        not null,
    queue              text        not null,
    status             text        not null,
    ready_at           timestamptz,
    epoch              bigint      not null default 0,
    lease_worker       text,
    lease_claimed_at   timestamptz,
    lease_expires_at   timestamptz,
    lease_ready_at     timestamptz,
    outcome            text,
    dead_code          text,
    generation         bigint      not null default 1,
    ring               bigint      not null default 0,
    attempts           integer     not null default 0,
    crashes            integer     not null default 0,
    runs               integer     not null default 0,
    requires_keys      boolean     not null,
    force_process      boolean     not null,
    unrung             boolean     not null default false,
    admitted_at        timestamptz not null,
    first_blocked_at   timestamptz,
    last_code          text,
    settled_at         timestamptz,
    look_at            timestamptz,
    -- Derived by `Job::reconcile_after_at`, stored with every store.
    reconcile_after_at timestamptz,
    created_at         timestamptz not null,
    updated_at         timestamptz not null,
    finished_at        timestamptz,
    constraint finalization_jobs_pkey primary key (user_id, job_id),
    constraint one_job_per_revision unique (user_id, conversation_id, revision),
    constraint origin_known check (origin in ('finalize', 'create', 'reprocess')),
    constraint queue_known check (queue in ('finalization', 'creation')),
    constraint status_known check (status in ('queued', 'leased', 'completed', 'dead_letter', 'blocked_byok')),
    constraint queued_has_ready_at check ((status = 'queued') = (ready_at is not null)),
    constraint lease_iff_leased check (
        (status = 'leased') = (lease_worker is not null)
        and (status = 'leased') = (lease_claimed_at is not null)
        and (status = 'leased') = (lease_expires_at is not null)
        and (status = 'leased') = (lease_ready_at is not null)),
    constraint completed_has_outcome check ((status = 'completed') = (outcome is not null)),
    constraint outcome_known check (outcome in ('kept', 'discarded', 'withdrawn')),
    constraint dead_letter_has_code check ((status = 'dead_letter') = (dead_code is not null)),
    constraint codes_known check (
        coalesce(dead_code, 'internal') in ('model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected',
            'model_malformed', 'run_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content',
            'invalid_job', 'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'app_failed')
        and coalesce(last_code, 'internal') in ('model_timeout', 'model_unavailable', 'model_rate_limited',
            'model_rejected', 'model_malformed', 'run_timeout', 'database_unavailable', 'internal',
            'conversation_missing', 'no_content', 'invalid_job', 'poison_crash', 'byok_session_abandoned',
            'byok_key_rejected', 'app_failed')),
    constraint reconcile_iff_nonterminal check (
        (status in ('completed', 'dead_letter')) = (reconcile_after_at is null)),
    constraint finished_iff_terminal check ((status in ('completed', 'dead_letter')) = (finished_at is not null)),
    constraint keys_never_queue check (not (requires_keys and status = 'queued')),
    constraint blocked_has_clock check (status <> 'blocked_byok' or first_blocked_at is not null),
    constraint settled_is_dead check (settled_at is null or status = 'dead_letter'),
    constraint numbers_sane check (generation >= 1 and epoch >= 0 and ring >= 0 and attempts >= 0 and crashes >= 0
        and runs >= 0 and version >= 1)
) with (fillfactor = 70);
-- An index on job_id alone serves the claim: a bell knows nothing else.
create index finalization_jobs_by_id on finalization_jobs (job_id);
create unique index one_live_job_per_conversation on finalization_jobs (user_id, conversation_id)
    where status in ('queued', 'leased', 'blocked_byok');
create index finalization_jobs_due on finalization_jobs (reconcile_after_at, job_id)
    where reconcile_after_at is not null;
create index finalization_jobs_leases on finalization_jobs (reconcile_after_at, job_id) where status = 'leased';
create index finalization_jobs_ready on finalization_jobs (queue, ready_at, job_id) where status = 'queued';
create index finalization_jobs_age on finalization_jobs (admitted_at)
    where status in ('queued', 'leased', 'blocked_byok');
create index finalization_jobs_dead on finalization_jobs (created_at desc, job_id) where status = 'dead_letter';
create index finalization_jobs_finished on finalization_jobs (finished_at) where finished_at is not null;
create index finalization_jobs_newest on finalization_jobs (created_at desc, job_id);

-- The admission record outlives the job's retention: (user, conversation, revision) never runs twice.
create table finalization_admissions (
    user_id         text        not null,
    conversation_id text        not null,
    revision        bigint      not null,
    job_id          text        not null,
    admitted_at     timestamptz not null,
    constraint finalization_admissions_pkey primary key (user_id, conversation_id, revision)
);

create table finalization_bells (
    job_id              text        not null,
    ring                bigint      not null,
    dispatch_generation bigint      not null,
    queue               text        not null,
    ring_at             timestamptz not null,
    constraint finalization_bells_pkey primary key (job_id, ring),
    constraint queue_known check (queue in ('finalization', 'creation'))
);
create index finalization_bells_due on finalization_bells (queue, ring_at, job_id);

create table stage_checkpoints (
    user_id    text        not null,
    job_id     text        not null,
    stage      text        not null,
    version    integer     not null,
    -- SHA-256 of what the revision fixes, of the engine's id and of its prompt version.
    digest     bytea       not null,
    output     jsonb       not null,
    epoch      bigint      not null,
    created_at timestamptz not null default clock_timestamp(),
    constraint stage_checkpoints_pkey primary key (user_id, job_id, stage, version, digest),
    constraint checkpoints_job_fkey foreign key (user_id, job_id) references finalization_jobs on delete cascade
);

-- Totals of finished jobs in striped rows: what `/metrics` costs does not grow with history.
create table finalization_totals (
    status text     not null,
    stripe smallint not null,
    jobs   bigint   not null default 0,
    constraint finalization_totals_pkey primary key (status, stripe),
    constraint total_status_known check (status in ('completed', 'dead_letter'))
) with (fillfactor = 50);
insert into finalization_totals (status, stripe)
    select status, stripe from unnest(array['completed', 'dead_letter']) status, generate_series(0, 15) stripe;

create table operator_actions (
    user_id     text        not null,
    action_id   text        not null,
    job_id      text,
    action      text        not null,
    operator    text        not null,
    reason      text        not null,
    from_status text,
    from_code   text,
    from_generation bigint,
    to_generation   bigint,
    created_at  timestamptz not null default clock_timestamp(),
    constraint operator_actions_pkey primary key (user_id, action_id),
    constraint action_known check (action in ('replay', 'discard'))
);
create index operator_actions_newest on operator_actions (created_at desc, action_id);
create index operator_actions_of_job on operator_actions (user_id, job_id);
