-- Budgets of users: their own limits (empty: the service's settings), and what is used of them.
set local lock_timeout = '5s';

alter table users add column limit_conversations_per_day bigint, add column limit_bytes bigint,
    add column limit_waiting_jobs bigint;

-- The bytes of what was said that its user's account was charged with; empty for conversations that are older than accounts.
alter table conversations add column counted_bytes bigint;

create table user_usage (
    user_id       text   not null,
    -- The UTC day of which the conversations are counted.
    day           date   not null,
    conversations bigint not null,
    bytes         bigint not null,
    constraint user_usage_pkey primary key (user_id),
    constraint user_usage_user_fkey foreign key (user_id) references users on delete cascade
) with (fillfactor = 70);
