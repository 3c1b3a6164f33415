-- Conversations, their words, and what was made out of them.
set local lock_timeout = '5s';

create table conversations (
    user_id               text        not null,
    conversation_id       text        not null,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    started_at            timestamptz not null,
    finished_at           timestamptz not null,
    language              text        not null,
    source                text        not null,
    status                text        not null,
    title                 text        not null default '',
    overview              text        not null default '',
    emoji                 text        not null default '🧠',
    category              text        not null default 'other',
    events                jsonb       not null default '[]',
    apps_results          jsonb       not null default '[]',
    folder_id             text,
    starred               boolean     not null default false,
    visibility            text        not null default 'private',
    discarded             boolean     not null default false,
    -- What a person set survives completion and replay (DECISIONS §3, "PATCH").
    title_by_person       boolean     not null default false,
    folder_by_person      boolean     not null default false,
    discarded_by_person   boolean     not null default false,
    -- The mark that a dead letter made, and that a replay takes back.
    discarded_by_failure  boolean     not null default false,
    geolocation           jsonb,
    external_data         jsonb,
    -- The words of a conversation created from text: read by stages, never returned, deleted with it.
    private_text          text,
    text_source           text,
    text_source_spec      text,
    client_session_id     text,
    client_device_id      text,
    client_platform       text,
    finalization_revision bigint      not null default 0,
    -- The last time words were added, of a conversation that waits for its finalize.
    last_append_at        timestamptz,
    -- Which engines answered, for the revision that is shown.
    engine                text,
    constraint conversations_pkey primary key (user_id, conversation_id),
    constraint conversations_user_fkey foreign key (user_id) references users on delete cascade,
    constraint status_known check (status in ('in_progress', 'processing', 'completed', 'failed')),
    constraint visibility_known check (visibility in ('private', 'shared', 'public')),
    constraint times_in_order check (finished_at >= started_at),
    constraint title_length check (char_length(title) <= 500),
    constraint text_length check (char_length(private_text) <= 100000)
);
-- The list of the developer interface: completed, not discarded, newest first.
create index conversations_listed on conversations (user_id, created_at desc, conversation_id)
    where status = 'completed' and not discarded;
create index conversations_all on conversations (user_id, created_at desc, conversation_id);
-- Deferred conversations that nobody finalized (DECISIONS §3), and the sweep of stuck ones (DECISIONS §4).
create index conversations_waiting on conversations (last_append_at) where status = 'in_progress';
create index conversations_processing on conversations (updated_at) where status = 'processing';

create table deleted_conversations (
    user_id         text        not null,
    conversation_id text        not null,
    deleted_at      timestamptz not null default clock_timestamp(),
    constraint deleted_conversations_pkey primary key (user_id, conversation_id)
);

create table transcript_segments (
    user_id         text             not null,
    conversation_id text             not null,
    position        integer          not null,
    segment_id      text,
    content         text             not null,
    speaker         text,
    speaker_id      integer,
    is_user         boolean          not null default false,
    person_id       text,
    start_seconds   double precision not null,
    end_seconds     double precision not null,
    constraint transcript_segments_pkey primary key (user_id, conversation_id, position),
    constraint segments_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade,
    constraint segment_id_once unique (user_id, conversation_id, segment_id),
    constraint segment_times check (start_seconds >= 0 and end_seconds >= start_seconds)
);

create table photos (
    user_id         text        not null,
    conversation_id text        not null,
    photo_id        text        not null,
    base64          text        not null,
    description     text,
    discarded       boolean     not null default false,
    created_at      timestamptz not null default clock_timestamp(),
    constraint photos_pkey primary key (user_id, conversation_id, photo_id),
    constraint photos_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade
);

create table action_items (
    user_id         text        not null,
    action_item_id  text        not null,
    description     text        not null,
    completed       boolean     not null default false,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    due_at          timestamptz,
    completed_at    timestamptz,
    conversation_id text,
    -- The revision that extracted it, and whether a person has touched it since: a later revision
    -- replaces only what nobody touched.
    revision        bigint,
    by_person       boolean     not null default false,
    constraint action_items_pkey primary key (user_id, action_item_id),
    constraint action_items_user_fkey foreign key (user_id) references users on delete cascade,
    constraint action_items_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade,
    constraint item_description_length check (char_length(description) between 1 and 500),
    constraint completed_has_time check (completed = (completed_at is not null))
);
create index action_items_listed on action_items (user_id, created_at desc, action_item_id);
create index action_items_of_conversation on action_items (user_id, conversation_id);

create table memories (
    user_id         text        not null,
    memory_id       text        not null,
    content         text        not null,
    category        text        not null,
    visibility      text        not null default 'private',
    tags            text[]      not null default '{}',
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    manually_added  boolean     not null default false,
    reviewed        boolean     not null default false,
    user_review     boolean,
    edited          boolean     not null default false,
    scoring         text,
    conversation_id text,
    revision        bigint,
    constraint memories_pkey primary key (user_id, memory_id),
    constraint memories_user_fkey foreign key (user_id) references users on delete cascade,
    constraint memories_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade,
    constraint memory_content_length check (char_length(content) between 1 and 500),
    constraint memory_category_known check (category in ('core', 'hobbies', 'lifestyle', 'interests', 'habits',
        'work', 'skills', 'learnings', 'other', 'system')),
    constraint memory_visibility_known check (visibility in ('public', 'private'))
);
create index memories_listed on memories (user_id, created_at desc, memory_id);
create index memories_of_conversation on memories (user_id, conversation_id);

create table embeddings (
    user_id         text        not null,
    conversation_id text        not null,
    model           text        not null,
    vector          real[]      not null,
    created_at      timestamptz not null default clock_timestamp(),
    constraint embeddings_pkey primary key (user_id, conversation_id),
    constraint embeddings_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade
);
