-- Apps of third parties, their keys, who installed them, and where users were last.
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
    -- By an operator; an app that is switched off is called by nobody and may not write.
    switched_off_at     timestamptz,
    switched_off_reason text,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
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

create table user_locations (
    user_id         text             not null,
    latitude        double precision not null,
    longitude       double precision not null,
    address         text,
    google_place_id text,
    location_type   text,
    noted_at        timestamptz      not null,
    constraint user_locations_pkey primary key (user_id),
    constraint user_locations_user_fkey foreign key (user_id) references users on delete cascade,
    constraint location_in_bounds check (latitude between -90 and 90 and longitude between -180 and 180)
);
create index user_locations_age on user_locations (noted_at);

-- Keys that may do everything may do what is new, too: no working key starts to be answered 403.
update developer_keys set scopes = scopes || array['apps:read', 'apps:write', 'chat:read', 'chat:write']
where revoked_at is null
    and scopes @> array['conversations:read', 'conversations:write', 'action_items:read', 'action_items:write',
        'memories:read', 'memories:write', 'goals:read', 'goals:write', 'folders:read', 'webhooks:read',
        'webhooks:write', 'keys:read', 'keys:write', 'profile:read', 'profile:write'];
