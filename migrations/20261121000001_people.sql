-- People, their keys, folders, and whom they know. Every key begins with user_id (DESIGN §4).
set local lock_timeout = '5s';

create table users (
    user_id        text        not null,
    name           text,
    time_zone      text        not null default 'UTC',
    language       text        not null default 'en',
    requires_byok  boolean     not null default false,
    apps           text[]      not null default '{}',
    created_at     timestamptz not null default clock_timestamp(),
    updated_at     timestamptz not null default clock_timestamp(),
    constraint users_pkey primary key (user_id),
    constraint user_id_length check (length(user_id) between 1 and 128)
);

create table developer_keys (
    user_id      text        not null,
    key_id       text        not null,
    name         text        not null,
    key_prefix   text        not null,
    key_sha256   bytea       not null,
    scopes       text[]      not null,
    created_at   timestamptz not null default clock_timestamp(),
    last_used_at timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    constraint developer_keys_pkey primary key (user_id, key_id),
    constraint developer_keys_user_fkey foreign key (user_id) references users on delete cascade,
    constraint key_is_a_hash check (octet_length(key_sha256) = 32)
);
create index developer_keys_by_hash on developer_keys (key_sha256);

create table people (
    user_id    text        not null,
    person_id  text        not null,
    name       text        not null,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint people_pkey primary key (user_id, person_id),
    constraint people_user_fkey foreign key (user_id) references users on delete cascade
);

create table folders (
    user_id     text        not null,
    folder_id   text        not null,
    name        text        not null,
    description text,
    color       text        not null default '#6B7280',
    icon        text        not null default 'folder',
    position    integer     not null default 0,
    is_default  boolean     not null default false,
    is_system   boolean     not null default false,
    created_at  timestamptz not null default clock_timestamp(),
    updated_at  timestamptz not null default clock_timestamp(),
    constraint folders_pkey primary key (user_id, folder_id),
    constraint folders_user_fkey foreign key (user_id) references users on delete cascade,
    constraint folder_name_length check (char_length(name) between 1 and 100),
    constraint folder_description_length check (char_length(description) <= 500)
);
