-- People with an account, their keys, what they used, and where they were last.
set local lock_timeout = '5s';

create table users (
    user_id                     text        not null,
    name                        text,
    time_zone                   text        not null default 'UTC',
    language                    text        not null default 'en',
    requires_byok               boolean     not null default false,
    apps                        text[]      not null default '{}',
    created_at                  timestamptz not null default clock_timestamp(),
    updated_at                  timestamptz not null default clock_timestamp(),
    deleting_since              timestamptz,
    -- The epoch at which the user's jobs are admitted: above every epoch of an erased user, so that a late write of an old run
    -- cannot pass the fence of a job that has the same id.
    first_epoch                 bigint      not null default 0,
    limit_conversations_per_day bigint,
    limit_bytes                 bigint,
    limit_waiting_jobs          bigint,
    constraint users_pkey primary key (user_id),
    constraint user_id_length check (length(user_id) between 1 and 128)
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

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
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
create index developer_keys_by_hash on developer_keys (key_sha256);

-- Idempotency keys of requests that create, and what each of them made and was answered.
create table request_keys (
    user_id       text        not null,
    route         text        not null,
    request_key   text        not null,
    -- SHA-256 of the body: the same key with another body is another request.
    fingerprint   bytea       not null,
    -- What the request made, written with it.
    made          text[]      not null,
    created_at    timestamptz not null,
    -- Until then its request may still be waiting for what it began.
    running_until timestamptz not null,
    status        smallint,
    answer        text,
    constraint request_keys_pkey primary key (user_id, route, request_key),
    constraint request_keys_user_fkey foreign key (user_id) references users on delete cascade,
    constraint answer_has_status check ((status is null) = (answer is null))
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
-- For pruning.
create index request_keys_age on request_keys (created_at);
create index request_keys_made on request_keys using gin (made);

-- What a user's budget has spent.
create table user_usage (
    user_id       text   not null,
    -- The UTC day of which the conversations are counted.
    day           date   not null,
    conversations bigint not null,
    bytes         bigint not null,
    constraint user_usage_pkey primary key (user_id),
    constraint user_usage_user_fkey foreign key (user_id) references users on delete cascade
) with (fillfactor = 70);

-- Where a user was last, for the apps' tool calls; pruned after 30 minutes.
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

create table people (
    user_id    text        not null,
    person_id  text        not null,
    name       text        not null,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint people_pkey primary key (user_id, person_id),
    constraint people_user_fkey foreign key (user_id) references users on delete cascade,
    constraint person_name_length check (char_length(name) between 1 and 100)
);
create index people_listed on people (user_id, created_at desc, person_id);
