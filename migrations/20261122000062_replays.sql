-- Bulk replay as an operation of its own: a frozen list, worked off at a bounded rate by any process with the role
-- reconciler, under a fence. An item is replayed in the transaction that marks it, so never twice.
set local lock_timeout = '5s';

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
    -- The executor's lease: the epoch is the fence, the clock is politeness.
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

create table replay_items (
    operation_id text        not null,
    position     integer     not null,
    user_id      text        not null,
    job_id       text        not null,
    -- As frozen: a job that somebody replayed meanwhile has another one.
    generation   bigint      not null,
    status       text        not null default 'waiting',
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
