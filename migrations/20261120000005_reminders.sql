-- Reminders of action items, and where they are pushed to.
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
