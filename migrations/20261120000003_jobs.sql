-- Jobs of finalization: the queue, their history, checkpoints of their stages, and the totals that lists and metrics read.
-- The constraints say what `pipeline/job` can express.
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
    dispatch           bigint      not null default 0,
    attempts           integer     not null default 0,
    crashes            integer     not null default 0,
    runs               integer     not null default 0,
    requires_keys      boolean     not null,
    force_process      boolean     not null,
    admitted_at        timestamptz not null,
    first_blocked_at   timestamptz,
    last_code          text,
    settled_at         timestamptz,
    next_check_at      timestamptz,
    -- Derived by `Job::reconcile_after_at`, stored with every store.
    reconcile_after_at timestamptz,
    created_at         timestamptz not null,
    updated_at         timestamptz not null,
    finished_at        timestamptz,
    -- An array of at most 64 transitions, oldest first, the newest kept; its shape is `Event` in `pipeline/ledger/src/history.rs`.
    -- Null before the first one. It stands in the row: an entry is part of the update that is made anyway, without a row, an
    -- index entry and a statement of its own.
    history            jsonb,
    trace_context      text,
    crashed_epoch      bigint,
    -- The newest dispatch for which a named task was created.
    handed_dispatch    bigint,
    handed_at          timestamptz,
    -- It is not handed over before: a process is at it, or the last try failed.
    hand_after         timestamptz,
    -- Tries since the last success.
    hand_tries         integer,
    -- An operator ended the job's wait: its next run asks a model server even where that server's circuit is open. Null: no.
    hurried            boolean,
    constraint finalization_jobs_pkey primary key (user_id, job_id),
    constraint one_job_per_revision unique (user_id, conversation_id, revision),
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
    constraint reconcile_iff_nonterminal check (
        (status in ('completed', 'dead_letter')) = (reconcile_after_at is null)),
    constraint finished_iff_terminal check ((status in ('completed', 'dead_letter')) = (finished_at is not null)),
    constraint keys_never_queue check (not (requires_keys and status = 'queued')),
    constraint blocked_has_clock check (status <> 'blocked_byok' or first_blocked_at is not null),
    constraint settled_is_dead check (settled_at is null or status = 'dead_letter'),
    constraint numbers_sane check (generation >= 1 and epoch >= 0 and dispatch >= 0 and attempts >= 0 and crashes >= 0
        and runs >= 0 and version >= 1),
    constraint trace_context_is_one check (trace_context ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
    constraint codes_known check (
        coalesce(dead_code, 'internal') in (
        'model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected', 'model_malformed', 'run_timeout',
        'stage_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content', 'invalid_job',
        'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'cancelled_by_operator', 'app_failed')
        and coalesce(last_code, 'internal') in (
        'model_timeout', 'model_unavailable', 'model_rate_limited', 'model_rejected', 'model_malformed', 'run_timeout',
        'stage_timeout', 'database_unavailable', 'internal', 'conversation_missing', 'no_content', 'invalid_job',
        'poison_crash', 'byok_session_abandoned', 'byok_key_rejected', 'cancelled_by_operator', 'app_failed')),
    constraint origin_known check (origin in ('finalize', 'create', 'reprocess', 'live'))
) with (fillfactor = 70, autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
-- Deliveries from a task queue, the API's poll and operators know only the job's id.
create index finalization_jobs_by_id on finalization_jobs (job_id);
create unique index one_live_job_per_conversation on finalization_jobs (user_id, conversation_id)
    where status in ('queued', 'leased', 'blocked_byok');
create index finalization_jobs_leases on finalization_jobs (reconcile_after_at, job_id) where status = 'leased';
create index finalization_jobs_ready on finalization_jobs (queue, ready_at, job_id) where status = 'queued';
create index finalization_jobs_age on finalization_jobs (admitted_at)
    where status in ('queued', 'leased', 'blocked_byok');
create index finalization_jobs_dead on finalization_jobs (created_at desc, job_id) where status = 'dead_letter';
create index finalization_jobs_newest on finalization_jobs (created_at desc, job_id);
-- Lists of dead letters by their cause. Only transitions into and out of a dead letter write it.
create index finalization_jobs_dead_by_code on finalization_jobs (dead_code, created_at desc, job_id desc)
    where status = 'dead_letter';
-- Jobs that wait for their user's keys, oldest first: those that waited too long are found without reading all that is due.
create index finalization_jobs_parked on finalization_jobs (reconcile_after_at, job_id) where status = 'blocked_byok';
-- For pruning. What may go by its age alone stands in one index, and what may go only when its conversation says so in
-- another: dead letters that are not settled are the oldest of all that is finished, and every batch would have to pass them.
create index finalization_jobs_over on finalization_jobs (finished_at)
    where status = 'completed' or settled_at is not null;
create index finalization_jobs_unsettled on finalization_jobs (finished_at, user_id, job_id)
    where status = 'dead_letter' and settled_at is null;
-- One user's turn in a queue: the oldest job of the next user is one look-up, however many jobs a user has.
create index finalization_jobs_by_user on finalization_jobs (queue, user_id, ready_at, job_id) where status = 'queued';
-- Finalizations whose newest dispatch the task queue does not have, in the order in which they are to be handed over.
create index finalization_jobs_unhanded on finalization_jobs (coalesce(hand_after, updated_at), job_id)
    where queue = 'finalization' and status = 'queued' and handed_dispatch is distinct from dispatch;
-- Finalizations that the task queue should have, by the time at which the reconciler asks for them.
create index finalization_jobs_handed on finalization_jobs (reconcile_after_at, job_id)
    where queue = 'finalization' and status = 'queued' and handed_dispatch = dispatch;

-- The admission record outlives the job's retention: (user, conversation, revision) never runs twice.
create table finalization_admissions (
    user_id         text        not null,
    conversation_id text        not null,
    revision        bigint      not null,
    job_id          text        not null,
    admitted_at     timestamptz not null,
    constraint finalization_admissions_pkey primary key (user_id, conversation_id, revision)
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

-- What a stage computed, so that another run of the job does not compute it again.
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
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

-- A row per stage of a run that asked a server; the built-in engine leaves none. Counts only grow within a run, so
-- that a write whose answer was lost can be repeated. They stay when checkpoints go: what was paid was paid.
create table engine_usage (
    user_id           text   not null,
    job_id            text   not null,
    -- The claim of the run.
    epoch             bigint not null,
    stage             text   not null,
    -- Engine, model, host and version of the prompts.
    engine            text   not null,
    calls             bigint not null,
    prompt_tokens     bigint not null,
    -- A part of the prompt's.
    cached_tokens     bigint not null,
    completion_tokens bigint not null,
    constraint engine_usage_pkey primary key (user_id, job_id, epoch, stage),
    constraint usage_job_fkey foreign key (user_id, job_id) references finalization_jobs on delete cascade,
    constraint usage_is_counted check (calls >= 0 and prompt_tokens >= 0 and cached_tokens >= 0
        and completion_tokens >= 0)
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

-- What the speech of a live conversation took, by the sockets that filled it. Numbers only.
create table live_usage (
    user_id            text             not null,
    conversation_id    text             not null,
    -- The socket's number of this conversation (conversations.live_epoch).
    live_epoch         bigint           not null,
    engine             text             not null,
    own_key            boolean          not null,
    received_seconds   double precision not null,
    -- What the engine was sent and billed.
    recognized_seconds double precision not null,
    utterances         bigint           not null,
    -- Speech that was given up.
    gap_seconds        double precision not null,
    -- In the currency of LISTEN_SPEECH_PRICE; null where no price was set, or the user paid.
    cost               double precision,
    constraint live_usage_pkey primary key (user_id, conversation_id, live_epoch),
    constraint live_usage_conversation_fkey foreign key (user_id, conversation_id) references conversations on delete cascade,
    constraint live_usage_is_counted check (received_seconds >= 0 and recognized_seconds >= 0 and utterances >= 0
        and gap_seconds >= 0 and cost >= 0)
);

-- Totals of finished jobs in striped rows: what `/metrics` costs does not grow with history.
create table finalization_totals (
    status text     not null,
    stripe smallint not null,
    jobs   bigint   not null default 0,
    constraint finalization_totals_pkey primary key (status, stripe),
    constraint total_status_known check (status in ('completed', 'dead_letter'))
) with (fillfactor = 50);

-- Dead letters by code, counted with the transition: what an overview costs does not grow with their number.
create table dead_letter_totals (
    code    text     not null,
    settled boolean  not null,
    stripe  smallint not null,
    jobs    bigint   not null default 0,
    constraint dead_letter_totals_pkey primary key (code, settled, stripe)
) with (fillfactor = 50);

-- Above the epochs of erased users' jobs.
create table epoch_floor (
    is_only_row boolean not null default true,
    epoch       bigint  not null,
    constraint epoch_floor_pkey primary key (is_only_row),
    constraint epoch_floor_has_one_row check (is_only_row)
);

-- A queue from which workers claim nothing until an operator resumes it.
create table queue_pauses (
    queue     text        not null,
    operator  text        not null,
    reason    text        not null,
    paused_at timestamptz not null,
    constraint queue_pauses_pkey primary key (queue),
    constraint queue_known check (queue in ('finalization', 'creation'))
);

insert into finalization_totals (status, stripe)
    select status, stripe from unnest(array['completed', 'dead_letter']) status, generate_series(0, 15) stripe;
insert into epoch_floor (epoch) values (0);
