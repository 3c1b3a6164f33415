-- What users deleted of what was extracted from their conversations, so that a later revision does not extract it again. Its words
-- are needed because engines say the same in other words; they go with the conversation, by the operation that deletes it.
set local lock_timeout = '5s';

create table deleted_extractions (
    user_id         text        not null,
    conversation_id text        not null,
    kind            text        not null,
    object_id       text        not null,
    content         text        not null,
    deleted_at      timestamptz not null default clock_timestamp(),
    constraint deleted_extractions_pkey primary key (user_id, conversation_id, kind, object_id),
    constraint deleted_kind_known check (kind in ('action_item', 'memory'))
);
