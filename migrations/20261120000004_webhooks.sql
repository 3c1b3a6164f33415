-- Endpoints that users registered, what is delivered to them, and where audio is posted.
set local lock_timeout = '5s';

create table webhook_endpoints (
    user_id               text        not null,
    endpoint_id           text        not null,
    url                   text        not null,
    events                text[]      not null,
    format                text        not null default 'full',
    secret                text        not null,
    enabled               boolean     not null default true,
    disabled_reason       text,
    -- The breaker: while it is open, the claim passes the endpoint's rows by.
    failing_since         timestamptz,
    consecutive_failures  integer     not null default 0,
    open_until            timestamptz,
    last_success_at       timestamptz,
    created_at            timestamptz not null default clock_timestamp(),
    updated_at            timestamptz not null default clock_timestamp(),
    previous_secret       text,
    previous_secret_until timestamptz,
    -- It was enabled when more waited for it than is made due at once: claims make the rest due.
    waking                boolean     not null default false,
    -- The app whose installation made the endpoint; null: the user's own.
    app_id                text,
    constraint webhook_endpoints_pkey primary key (user_id, endpoint_id),
    constraint webhook_endpoints_user_fkey foreign key (user_id) references users on delete cascade,
    constraint disabled_has_reason check (enabled = (disabled_reason is null)),
    constraint previous_secret_ends check ((previous_secret is null) = (previous_secret_until is null)),
    constraint format_known check (format in ('full', 'thin', 'bare'))
);
create index webhook_endpoints_troubled on webhook_endpoints (updated_at desc)
    where not enabled or failing_since is not null;
create index webhook_endpoints_waking on webhook_endpoints (user_id, endpoint_id) where waking;

-- One row per event and endpoint: the outbox of webhooks.
create table webhook_deliveries (
    user_id         text        not null,
    endpoint_id     text        not null,
    delivery_id     text        not null,
    event           text        not null,
    conversation_id text,
    revision        bigint,
    subject_id      text,
    status          text        not null,
    next_at         timestamptz,
    epoch           bigint      not null default 0,
    sending_until   timestamptz,
    tries           integer     not null default 0,
    last_status     integer,
    last_error      text,
    -- Rendered once, at the first try; erased when delivered, or with the conversation.
    body            bytea,
    occurred_at     timestamptz not null,
    created_at      timestamptz not null default clock_timestamp(),
    finished_at     timestamptz,
    trace_context   text,
    -- An array of the newest tries, oldest first; its shape is `DeliveryTry` in `pipeline/outbox/src/deliveries/history.rs`. Null
    -- before the first one.
    history         jsonb,
    constraint webhook_deliveries_pkey primary key (user_id, endpoint_id, delivery_id),
    constraint deliveries_endpoint_fkey foreign key (user_id, endpoint_id)
        references webhook_endpoints on delete cascade,
    constraint delivery_status_known check (status in ('pending', 'sending', 'delivered', 'exhausted', 'cancelled')),
    constraint pending_has_next check (status <> 'pending' or next_at is not null),
    constraint sending_has_until check ((status = 'sending') = (sending_until is not null)),
    constraint finished_has_time check ((status in ('delivered', 'exhausted', 'cancelled')) = (finished_at is not null)),
    constraint finished_has_no_body check (status not in ('delivered', 'cancelled') or body is null),
    constraint trace_context_is_one check (trace_context ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$')
) with (fillfactor = 80, autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
create index webhook_deliveries_due on webhook_deliveries (next_at, delivery_id) where status = 'pending';
create index webhook_deliveries_sending on webhook_deliveries (sending_until) where status = 'sending';
create index webhook_deliveries_of_endpoint on webhook_deliveries (user_id, endpoint_id, created_at desc);
create index webhook_deliveries_of_conversation on webhook_deliveries (user_id, conversation_id);
create index webhook_deliveries_finished on webhook_deliveries (finished_at) where finished_at is not null;
create index webhook_deliveries_pending_age on webhook_deliveries (occurred_at) where status in ('pending', 'sending');
-- What was not delivered, for the owner who asks for it once more.
create index webhook_deliveries_lost on webhook_deliveries (user_id, endpoint_id, occurred_at)
    where status in ('exhausted', 'cancelled');
create index webhook_deliveries_exhausted on webhook_deliveries (finished_at desc, delivery_id desc)
    where status = 'exhausted';
-- What waits for one endpoint.
create index webhook_deliveries_waiting on webhook_deliveries (user_id, endpoint_id, next_at) where status = 'pending';
-- The oldest event that can be delivered, however many wait for their endpoints to be enabled.
create index webhook_deliveries_backlog on webhook_deliveries (occurred_at)
    where status in ('pending', 'sending') and next_at is distinct from 'infinity';

-- Where the raw audio of a user's live sessions is posted.
create table audio_webhooks (
    user_id         text        not null,
    url             text        not null,
    -- A request is made of so many seconds of audio.
    seconds         integer     not null,
    -- whsec_…: signs the requests; sealed where LISTEN_SECRETS_KEY is set.
    secret          text        not null,
    enabled         boolean     not null default true,
    disabled_reason text,
    -- In a row, across all processes.
    failures        integer     not null default 0,
    failing_since   timestamptz,
    last_success_at timestamptz,
    -- Raised by every change of its owner: what became of a request counts for the version that sent it.
    version         bigint      not null default 1,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    constraint audio_webhooks_pkey primary key (user_id),
    constraint audio_webhooks_user_fkey foreign key (user_id) references users on delete cascade,
    constraint audio_seconds_in_bounds check (seconds between 1 and 60),
    constraint audio_disabled_has_reason check (enabled = (disabled_reason is null))
);
