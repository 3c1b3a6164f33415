-- Apps of third parties, their keys, who installed them; what is said in chats; and pushes of that and of reminders.
set local lock_timeout = '5s';

-- user_id is the owner.
create table apps (
    user_id             text        not null,
    app_id              text        not null,
    name                text        not null,
    description         text        not null,
    visibility          text        not null,
    home_url            text,
    manifest_url        text,
    webhook_url         text,
    setup_url           text,
    setup_completed_url text,
    summary_prompt      text,
    -- The checked manifest as it was fetched last, every default written out; null without a manifest_url.
    manifest            text,
    manifest_sha256     bytea,
    manifest_fetched_at timestamptz,
    chat_enabled        boolean     not null default false,
    chat_target         text        not null default 'app',
    chat_notify         boolean     not null default false,
    -- whsec_…: signs tool calls and webhooks of this app; sealed where LISTEN_SECRETS_KEY is set.
    secret              text        not null,
    -- Raised by every change: a save that fetched a manifest writes only over what it read.
    version             bigint      not null default 1,
    failing_since       timestamptz,
    -- By an operator; an app that is switched off is not called and may not write.
    switched_off_at     timestamptz,
    switched_off_reason text,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
    -- The bucket of its requests, over all its keys and in every process: the time at which it is full again.
    requests_full_at    timestamptz,
    -- An MCP server whose tools it lends, and the bearer token for it: sealed where LISTEN_SECRETS_KEY is set.
    mcp_url             text,
    mcp_token           text,
    constraint apps_pkey primary key (user_id, app_id),
    constraint apps_user_fkey foreign key (user_id) references users on delete cascade,
    constraint app_name_length check (char_length(name) between 1 and 100),
    constraint app_visibility_known check (visibility in ('private', 'public')),
    constraint app_chat_target_known check (chat_target in ('app', 'main')),
    constraint manifest_has_hash check (
        (manifest is null) = (manifest_sha256 is null) and (manifest is null) = (manifest_fetched_at is null)),
    constraint switched_off_has_reason check ((switched_off_at is null) = (switched_off_reason is null))
);
create index apps_by_id on apps (app_id);
create index apps_public on apps (created_at desc, app_id) where visibility = 'public';

-- user_id is the owner of the app.
create table app_keys (
    user_id      text        not null,
    key_id       text        not null,
    app_id       text        not null,
    label        text        not null,
    key_prefix   text        not null,
    key_sha256   bytea       not null,
    created_at   timestamptz not null,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    constraint app_keys_pkey primary key (user_id, key_id),
    constraint app_keys_app_fkey foreign key (user_id, app_id) references apps on delete cascade,
    constraint app_key_is_a_hash check (octet_length(key_sha256) = 32)
);
create index app_keys_by_hash on app_keys (key_sha256);
create index app_keys_of_app on app_keys (user_id, app_id);

-- user_id is who installed it; the app is another user's, and may be gone.
create table app_installs (
    user_id      text          not null,
    app_id       text          not null,
    owner_id     text          not null,
    installed_at timestamptz   not null,
    -- An install that was removed is kept for an hour, so that installing again does not renew the hour's messages.
    removed_at   timestamptz,
    -- When the app wrote to this user within the last hour.
    sends        timestamptz[] not null default '{}',
    constraint app_installs_pkey primary key (user_id, app_id),
    constraint app_installs_user_fkey foreign key (user_id) references users on delete cascade
);
create index app_installs_removed on app_installs (removed_at) where removed_at is not null;

-- What is said in a user's chats: by the user, by the assistant, and by apps (POST /v1/integrations/notification).
create table chat_messages (
    user_id    text        not null,
    -- 'main', or the id of the app whose chat it is.
    thread     text        not null,
    message_id uuid        not null,
    created_at timestamptz not null default clock_timestamp(),
    sender     text        not null,
    -- The app that wrote it, or that the user wrote to.
    app_id     uuid,
    text       text        not null,
    constraint chat_messages_pkey primary key (user_id, message_id),
    constraint chat_messages_user_fkey foreign key (user_id) references users on delete cascade,
    constraint chat_sender_known check (sender in ('human', 'ai', 'app'))
);
create index chat_messages_of_thread on chat_messages (user_id, thread, created_at desc);

-- What is known of a reply of the assistant besides its text, which is its message's.
create table chat_turns (
    user_id       text        not null,
    reply_id      uuid        not null,
    question_id   uuid        not null,
    thread        text        not null,
    -- The client's own id of the message: a repeat begins nothing.
    request_id    text,
    status        text        not null,
    begun_at      timestamptz not null,
    -- A turn that is still running then has lost its process.
    running_until timestamptz not null,
    trouble       text,
    engine        text        not null default '',
    sources       jsonb       not null default '[]',
    tools         jsonb       not null default '[]',
    constraint chat_turns_pkey primary key (user_id, reply_id),
    constraint turn_reply_fkey foreign key (user_id, reply_id) references chat_messages on delete cascade,
    constraint turn_status_known check (status in ('running', 'completed', 'failed', 'stopped'))
);
create unique index chat_turns_running on chat_turns (user_id, thread) where status = 'running';
create unique index chat_turns_requested on chat_turns (user_id, thread, request_id);

-- Pushes of reminders and of what apps write into chats, one per subscription and notice or message.
create table push_deliveries (
    user_id         text        not null,
    subscription_id text        not null,
    -- Derived from (user, action item, revision, notice), or from the message: what is written twice is one delivery.
    delivery_id     text        not null,
    -- A reminder's: the item, why it is sent, and the date that it is about.
    action_item_id  text,
    notice          text,
    due_at          timestamptz,
    -- A message's: what its app was called, and in which chat it is ('app' or 'main').
    message_id      uuid,
    app_name        text,
    target          text,
    status          text        not null,
    next_at         timestamptz,
    epoch           bigint      not null default 0,
    sending_until   timestamptz,
    tries           integer     not null default 0,
    last_status     integer,
    last_error      text,
    created_at      timestamptz not null,
    finished_at     timestamptz,
    constraint push_deliveries_pkey primary key (user_id, subscription_id, delivery_id),
    constraint push_subscription_fkey foreign key (user_id, subscription_id)
        references push_subscriptions on delete cascade,
    constraint push_reminder_fkey foreign key (user_id, action_item_id) references reminders on delete cascade,
    constraint push_message_fkey foreign key (user_id, message_id) references chat_messages on delete cascade,
    constraint push_is_of_one check ((action_item_id is null) <> (message_id is null)),
    constraint push_reminder_is_whole check (
        (action_item_id is null) = (notice is null) and (action_item_id is null) = (due_at is null)),
    constraint push_message_is_whole check (
        (message_id is null) = (app_name is null) and (message_id is null) = (target is null)),
    constraint push_notice_known check (notice in ('set', 'due')),
    constraint push_status_known check (status in ('pending', 'sending', 'delivered', 'exhausted', 'cancelled')),
    constraint push_pending_has_next check ((status = 'pending') = (next_at is not null)),
    constraint push_sending_has_until check ((status = 'sending') = (sending_until is not null)),
    constraint push_finished_has_time check (
        (status in ('delivered', 'exhausted', 'cancelled')) = (finished_at is not null))
) with (fillfactor = 80, autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
create index push_deliveries_due on push_deliveries (next_at) where status = 'pending';
create index push_deliveries_sending on push_deliveries (sending_until) where status = 'sending';
create index push_deliveries_of_item on push_deliveries (user_id, action_item_id) where action_item_id is not null;
create index push_deliveries_of_message on push_deliveries (user_id, message_id) where message_id is not null;
create index push_deliveries_finished on push_deliveries (finished_at) where finished_at is not null;
