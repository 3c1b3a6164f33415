-- Where the raw audio of a user's live sessions is posted.
set local lock_timeout = '5s';

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
