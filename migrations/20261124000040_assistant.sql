-- What the assistant needs: passages to search in, and the turns of chats.
set local lock_timeout = '5s';

-- Conversations in passages of about 1,000 characters; part 0 is the title with the overview. Written behind completion,
-- gone with the conversation.
create table search_entries (
    user_id         text        not null,
    conversation_id text        not null,
    part            integer     not null,
    happened_at     timestamptz not null,
    content         text        not null,
    -- The words by the rules of the conversation's language and as they stand, and one lexeme that says whose they are: the
    -- index finds a user's passages without reading those of others.
    words           tsvector    not null,
    constraint search_entries_pkey primary key (user_id, conversation_id, part),
    constraint search_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade
);
-- The pending list is read by every search: it is kept short.
create index search_entries_words on search_entries using gin (words) with (gin_pending_list_limit = 512);

-- The revision whose words are in search_entries; null: to be indexed (again).
alter table conversations add column indexed_revision bigint;

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
