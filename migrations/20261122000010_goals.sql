-- Goals, and where they stood on which day.
set local lock_timeout = '5s';

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

-- One row per goal and UTC day: where it stood when it was last told that day.
create table goal_progress (
    user_id     text             not null,
    goal_id     text             not null,
    day         date             not null,
    value       double precision not null,
    recorded_at timestamptz      not null,
    constraint goal_progress_pkey primary key (user_id, goal_id, day),
    constraint goal_progress_goal_fkey foreign key (user_id, goal_id) references goals on delete cascade
);
