-- Requests that create, by the names that clients gave them: each is done once.
set local lock_timeout = '5s';

create table request_keys (
    user_id       text        not null,
    route         text        not null,
    request_key   text        not null,
    -- SHA-256 of the body: the same name with another body is another request.
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
);

-- For pruning.
create index request_keys_age on request_keys (created_at);
