-- What is said in a user's chats: by the user, by the assistant, and by apps (POST /v1/integrations/notification).
set local lock_timeout = '5s';

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
