-- Pushes of what apps write into chats, to the user's push subscriptions. A table of its own: every row of push_deliveries
-- names an action item.
set local lock_timeout = '5s';

create table chat_pushes (
    user_id         text        not null,
    subscription_id text        not null,
    message_id      uuid        not null,
    app_name        text        not null,
    target          text        not null,
    status          text        not null,
    next_at         timestamptz,
    epoch           bigint      not null default 0,
    sending_until   timestamptz,
    tries           integer     not null default 0,
    last_status     integer,
    last_error      text,
    created_at      timestamptz not null,
    finished_at     timestamptz,
    constraint chat_pushes_pkey primary key (user_id, subscription_id, message_id),
    constraint chat_pushes_subscription_fkey foreign key (user_id, subscription_id)
        references push_subscriptions on delete cascade,
    constraint chat_pushes_message_fkey foreign key (user_id, message_id) references chat_messages on delete cascade,
    constraint chat_push_status_known check (status in ('pending', 'sending', 'delivered', 'exhausted')),
    constraint chat_push_pending_has_next check ((status = 'pending') = (next_at is not null)),
    constraint chat_push_sending_has_until check ((status = 'sending') = (sending_until is not null)),
    constraint chat_push_finished_has_time check ((status in ('delivered', 'exhausted')) = (finished_at is not null))
) with (fillfactor = 80);
create index chat_pushes_due on chat_pushes (next_at) where status = 'pending';
create index chat_pushes_sending on chat_pushes (sending_until) where status = 'sending';
create index chat_pushes_of_message on chat_pushes (user_id, message_id);
create index chat_pushes_finished on chat_pushes (finished_at) where finished_at is not null;
