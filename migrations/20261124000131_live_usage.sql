-- What the speech of a live conversation took, by the sockets that filled it. Numbers only.
set local lock_timeout = '5s';

create table live_usage (
    user_id            text             not null,
    conversation_id    text             not null,
    -- The socket's number of this conversation (conversations.live_epoch).
    live_epoch         bigint           not null,
    engine             text             not null,
    own_key            boolean          not null,
    received_seconds   double precision not null,
    -- What the engine was sent and billed.
    recognized_seconds double precision not null,
    utterances         bigint           not null,
    -- Speech that was given up.
    gap_seconds        double precision not null,
    -- In the currency of LISTEN_SPEECH_PRICE; null where no price was set, or the user paid.
    cost               double precision,
    constraint live_usage_pkey primary key (user_id, conversation_id, live_epoch),
    constraint live_usage_conversation_fkey foreign key (user_id, conversation_id) references conversations on delete cascade,
    constraint live_usage_is_counted check (received_seconds >= 0 and recognized_seconds >= 0 and utterances >= 0
        and gap_seconds >= 0 and cost >= 0)
);
