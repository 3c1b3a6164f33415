-- Processes that live, queues that are paused, and what operators did to more than one job.
set local lock_timeout = '5s';

-- One row per process of the service, written every few seconds; one that is old is a process that died.
create table service_processes (
    process_id     text        not null,
    version        text        not null,
    roles          text[]      not null,
    dispatch_mode  text        not null,
    -- Runs at once; 0 without the role worker.
    finalization_slots integer not null,
    creation_slots integer     not null,
    stopping       boolean     not null default false,
    started_at     timestamptz not null,
    seen_at        timestamptz not null,
    constraint service_processes_pkey primary key (process_id)
) with (fillfactor = 50);

-- What each process ended, minute by minute: for sparklines, never for decisions.
create table service_minutes (
    minute     timestamptz not null,
    process_id text        not null,
    completed  bigint      not null default 0,
    failed     bigint      not null default 0,
    released   bigint      not null default 0,
    lost       bigint      not null default 0,
    -- Runs by their length: one count per bound of `RUN_MILLIS`, and one for longer ones.
    lengths    bigint[]    not null,
    constraint service_minutes_pkey primary key (minute, process_id)
);

-- When the reconciler last finished a round, in any process.
create table service_rounds (
    name    text        not null,
    done_at timestamptz not null,
    constraint service_rounds_pkey primary key (name)
) with (fillfactor = 50);

-- A queue whose bells nobody takes until an operator says so.
create table queue_pauses (
    queue     text        not null,
    operator  text        not null,
    reason    text        not null,
    paused_at timestamptz not null,
    constraint queue_pauses_pkey primary key (queue),
    constraint queue_known check (queue in ('finalization', 'creation'))
);

-- Actions that are not about one job name their subject (a queue, an operation, an endpoint); those of the whole
-- service belong to no user, which is the empty one.
alter table operator_actions add column subject text;
alter table operator_actions drop constraint action_known;
alter table operator_actions add constraint action_known check (action in ('replay', 'discard', 'pause', 'resume',
    'recount', 'bulk_replay', 'pause_bulk', 'resume_bulk', 'cancel_bulk', 'enable_webhook', 'recover_webhook'));
