-- What operators did, bulk replays, and what is known of the processes of the service.
set local lock_timeout = '5s';

-- The audit: what operators did, to what, and why.
create table operator_actions (
    user_id         text        not null,
    action_id       text        not null,
    job_id          text,
    action          text        not null,
    operator        text        not null,
    reason          text        not null,
    from_status     text,
    from_code       text,
    from_generation bigint,
    to_generation   bigint,
    created_at      timestamptz not null default clock_timestamp(),
    -- Actions that are not about one job name their subject (a queue, an operation, an endpoint); those of the whole
    -- service belong to no user, which is the empty one.
    subject         text,
    -- Counts and states, never a user's words.
    detail          text,
    constraint operator_actions_pkey primary key (user_id, action_id),
    -- The names are the program's: a new one is no migration.
    constraint action_known check (action ~ '^[a-z]+(_[a-z]+)*$')
);
create index operator_actions_newest on operator_actions (created_at desc, action_id);
create index operator_actions_of_job on operator_actions (user_id, job_id);
create index operator_actions_of_subject on operator_actions (user_id, subject, created_at desc)
    where subject is not null;

-- Bulk replays: a list of dead letters that is replayed at a bounded rate.
create table replay_operations (
    operation_id text        not null,
    status       text        not null,
    operator     text        not null,
    reason       text        not null,
    -- The filter as its words, for people; what counts is the list.
    filter       text        not null,
    from_scratch boolean     not null,
    per_minute   integer     not null,
    -- Replayed jobs that may be unfinished at once.
    in_flight    integer     not null,
    -- Counted with each item.
    items        integer     not null,
    replayed     integer     not null default 0,
    refused      integer     not null default 0,
    completed    integer     not null default 0,
    died_again   integer     not null default 0,
    parked       integer     not null default 0,
    -- The executor's lease: the epoch is the fence, the clock only says when another process may try.
    epoch        bigint      not null default 0,
    executor     text,
    lease_until  timestamptz not null,
    -- When the rate allows the next item.
    next_at      timestamptz not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    finished_at  timestamptz,
    constraint replay_operations_pkey primary key (operation_id),
    constraint operation_status_known check (status in ('running', 'paused', 'cancelled', 'done')),
    constraint finished_iff_ended check ((status in ('cancelled', 'done')) = (finished_at is not null)),
    constraint caps_sane check (per_minute >= 1 and in_flight >= 1 and items >= 0),
    constraint counts_sane check (replayed + refused <= items and completed + died_again + parked <= replayed)
) with (fillfactor = 50);
create index replay_operations_running on replay_operations (created_at) where status = 'running';
create index replay_operations_newest on replay_operations (created_at desc, operation_id);

-- The jobs of a bulk replay, in the order in which they are replayed.
create table replay_items (
    operation_id text    not null,
    position     integer not null,
    user_id      text    not null,
    job_id       text    not null,
    -- As selected: a job that was replayed meanwhile has another one.
    generation   bigint  not null,
    status       text    not null default 'waiting',
    -- Why it was refused, or the code of which it died again.
    result       text,
    changed_at   timestamptz,
    constraint replay_items_pkey primary key (operation_id, position),
    constraint replay_items_operation_fkey foreign key (operation_id) references replay_operations on delete cascade,
    constraint item_status_known check (status in ('waiting', 'replayed', 'refused', 'completed', 'died_again',
        'parked'))
) with (fillfactor = 70);
create index replay_items_waiting on replay_items (operation_id, position) where status = 'waiting';
create index replay_items_in_flight on replay_items (operation_id, position) where status = 'replayed';

-- One row per process of the service, written every few seconds; one that is old is a process that died.
create table service_processes (
    process_id         text        not null,
    version            text        not null,
    roles              text[]      not null,
    dispatch_mode      text        not null,
    -- Runs at once; 0 without the role worker.
    finalization_slots integer     not null,
    creation_slots     integer     not null,
    stopping           boolean     not null default false,
    started_at         timestamptz not null,
    seen_at            timestamptz not null,
    -- Since it began: completed, failed, released, lost, and then by their length, as in `service_minutes`. Empty for one that
    -- never said so.
    ended              bigint[]    not null default '{}',
    -- A list of the model servers that it asks, with their last answers, written every few seconds; null: it asks none.
    servers            jsonb,
    constraint service_processes_pkey primary key (process_id)
) with (fillfactor = 50);

-- When the reconciler last finished a round, in any process.
create table service_rounds (
    name          text        not null,
    done_at       timestamptz not null,
    every_seconds integer,
    constraint service_rounds_pkey primary key (name)
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
