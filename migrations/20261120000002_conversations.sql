-- Conversations, their words, and what was made out of them.
set local lock_timeout = '5s';

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
    -- The bytes of what was said that its user's account was charged with; empty for conversations that are older than accounts.
    counted_bytes         bigint,
    -- Raised by every socket that opens the conversation: an append of an older one is refused. Null: not live.
    live_epoch            bigint,
    -- The silence that ends it, in seconds.
    live_timeout          integer,
    last_activity_at      timestamptz,
    process_after         timestamptz,
    -- The process whose socket owns it, and since when; null when that socket was closed.
    live_process          text,
    live_since            timestamptz,
    -- The revision whose words are in search_entries; null: to be indexed (again).
    indexed_revision      bigint,
    constraint conversations_pkey primary key (user_id, conversation_id),
    constraint conversations_user_fkey foreign key (user_id) references users on delete cascade,
    constraint status_known check (status in ('in_progress', 'processing', 'completed', 'failed')),
    constraint visibility_known check (visibility in ('private', 'shared', 'public')),
    constraint times_in_order check (finished_at >= started_at),
    constraint title_length check (char_length(title) <= 500),
    constraint text_length check (char_length(private_text) <= 100000)
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
-- The list of the developer interface: completed, not discarded, newest first.
create index conversations_listed on conversations (user_id, created_at desc, conversation_id)
    where status = 'completed' and not discarded;
create index conversations_all on conversations (user_id, created_at desc, conversation_id);
-- Deferred conversations that wait for their finalize (DECISIONS §3), and the sweep of stuck ones (DECISIONS §4).
create index conversations_waiting on conversations (last_append_at) where status = 'in_progress';
create index conversations_in_folder on conversations (user_id, folder_id, created_at desc, conversation_id)
    include (status, discarded) where folder_id is not null;
create index conversations_starred on conversations (user_id, created_at desc, conversation_id)
    where status = 'completed' and not discarded and starred;
create index conversations_in_progress on conversations (user_id, created_at desc, conversation_id)
    where status = 'in_progress';
-- The repair pass reads what is `processing` page by page.
create index conversations_in_processing on conversations (updated_at, user_id, conversation_id)
    where status = 'processing';
-- Live conversations, by the time at which they are to be processed.
create index conversations_live on conversations (process_after, user_id, conversation_id)
    where status = 'in_progress' and process_after is not null;
-- Completed conversations whose words are not in search_entries yet.
create index conversations_unindexed on conversations (user_id, conversation_id)
    where status = 'completed' and indexed_revision is null;

-- What was deleted stays deleted: an id of this table is never created again.
create table deleted_conversations (
    user_id         text        not null,
    conversation_id text        not null,
    deleted_at      timestamptz not null default clock_timestamp(),
    constraint deleted_conversations_pkey primary key (user_id, conversation_id)
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

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
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

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
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

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
    -- The revision that extracted it, and whether a person has changed it since: a later revision
    -- replaces only what no person changed.
    revision        bigint,
    by_person       boolean     not null default false,
    -- Items of one moment in the order in which they were said, or sent in one batch.
    position        integer     not null default 0,
    constraint action_items_pkey primary key (user_id, action_item_id),
    constraint action_items_user_fkey foreign key (user_id) references users on delete cascade,
    constraint action_items_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade,
    constraint item_description_length check (char_length(description) between 1 and 500),
    constraint completed_has_time check (completed = (completed_at is not null))
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
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
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
create index memories_listed on memories (user_id, created_at desc, memory_id);
create index memories_of_conversation on memories (user_id, conversation_id);

create table goals (
    user_id       text             not null,
    goal_id       text             not null,
    title         text             not null,
    goal_type     text             not null default 'scale',
    target_value  double precision not null,
    current_value double precision not null default 0,
    min_value     double precision not null default 0,
    max_value     double precision not null default 10,
    unit          text,
    is_active     boolean          not null default true,
    created_at    timestamptz      not null,
    updated_at    timestamptz      not null,
    constraint goals_pkey primary key (user_id, goal_id),
    constraint goals_user_fkey foreign key (user_id) references users on delete cascade,
    constraint goal_title_length check (char_length(title) between 1 and 500),
    constraint goal_type_known check (goal_type in ('boolean', 'scale', 'numeric'))
);
-- The list: active ones first, oldest first.
create index goals_listed on goals (user_id, is_active desc, created_at, goal_id);

-- One row per goal and UTC day: its value at the last report of that day.
create table goal_progress (
    user_id     text             not null,
    goal_id     text             not null,
    day         date             not null,
    value       double precision not null,
    recorded_at timestamptz      not null,
    constraint goal_progress_pkey primary key (user_id, goal_id, day),
    constraint goal_progress_goal_fkey foreign key (user_id, goal_id) references goals on delete cascade
);

-- One vector per conversation, by the model that made it.
create table embeddings (
    user_id         text        not null,
    conversation_id text        not null,
    model           text        not null,
    vector          real[]      not null,
    created_at      timestamptz not null default clock_timestamp(),
    constraint embeddings_pkey primary key (user_id, conversation_id),
    constraint embeddings_conversation_fkey foreign key (user_id, conversation_id)
        references conversations on delete cascade
) with (autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);

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
