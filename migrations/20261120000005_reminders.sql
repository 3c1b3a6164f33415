-- Reminders of action items, and their pushes.
set local lock_timeout = '5s';

-- Where reminders and chat messages of a user are pushed to.
create table push_subscriptions (
    user_id         text        not null,
    subscription_id text        not null,
    kind            text        not null,
    -- A push service's address of one browser, or a webhook of the person's own.
    url             text        not null,
    -- A browser's public key and secret (RFC 8291), base64url; a webhook has none.
    p256dh          text,
    auth            text,
    failing_since   timestamptz,
    last_success_at timestamptz,
    created_at      timestamptz not null default clock_timestamp(),
    constraint push_subscriptions_pkey primary key (user_id, subscription_id),
    constraint push_subscriptions_user_fkey foreign key (user_id) references users on delete cascade,
    constraint push_kind_known check (kind in ('webpush', 'webhook')),
    constraint webpush_has_keys check (
        (kind = 'webpush') = (p256dh is not null) and (kind = 'webpush') = (auth is not null))
);

-- One row per action item that has, or had, a due date. The revision counts its due dates, so that each of
-- them has notices of its own.
create table reminders (
    user_id        text        not null,
    action_item_id text        not null,
    revision       bigint      not null,
    due_at         timestamptz not null,
    -- When the reminder fires; null once it has, or when there is nothing to be reminded of any more.
    fire_at        timestamptz,
    constraint reminders_pkey primary key (user_id, action_item_id),
    constraint reminders_item_fkey foreign key (user_id, action_item_id) references action_items on delete cascade
);
create index reminders_due on reminders (fire_at) where fire_at is not null;

-- Pushes of reminders, one per subscription and notice.
create table push_deliveries (
    user_id         text        not null,
    subscription_id text        not null,
    -- Derived from (user, action item, revision, notice): what is written twice is one delivery.
    delivery_id     text        not null,
    action_item_id  text        not null,
    notice          text        not null,
    due_at          timestamptz not null,
    status          text        not null,
    next_at         timestamptz,
    epoch           bigint      not null default 0,
    sending_until   timestamptz,
    tries           integer     not null default 0,
    last_status     integer,
    last_error      text,
    created_at      timestamptz not null,
    finished_at     timestamptz,
    constraint push_deliveries_pkey primary key (user_id, subscription_id, delivery_id),
    constraint push_subscription_fkey foreign key (user_id, subscription_id)
        references push_subscriptions on delete cascade,
    constraint push_reminder_fkey foreign key (user_id, action_item_id) references reminders on delete cascade,
    constraint push_notice_known check (notice in ('set', 'due')),
    constraint push_status_known check (status in ('pending', 'sending', 'delivered', 'exhausted', 'cancelled')),
    constraint push_pending_has_next check ((status = 'pending') = (next_at is not null)),
    constraint push_sending_has_until check ((status = 'sending') = (sending_until is not null)),
    constraint push_finished_has_time check (
        (status in ('delivered', 'exhausted', 'cancelled')) = (finished_at is not null))
) with (fillfactor = 80, autovacuum_analyze_threshold = 1000, autovacuum_vacuum_threshold = 1000);
create index push_deliveries_due on push_deliveries (next_at) where status = 'pending';
create index push_deliveries_sending on push_deliveries (sending_until) where status = 'sending';
create index push_deliveries_of_item on push_deliveries (user_id, action_item_id);
create index push_deliveries_finished on push_deliveries (finished_at) where finished_at is not null;
