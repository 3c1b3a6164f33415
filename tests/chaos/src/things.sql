-- What only the kit installs, besides the history of jobs: what was created by which client, due dates with the pushes that
-- announce them, and the items of bulk replays.

-- Conversations and people's own action items, by the number in their words.
create table chaos.made (
    kind text, user_id text, id text, number bigint, at timestamptz default clock_timestamp(),
    writer text default current_setting('application_name')
);
create function chaos.number_of(words text) returns bigint language sql immutable as $$
    select (regexp_match(words, '(?:zq|s-)(\d+)'))[1]::bigint
$$;
create function chaos.note_made() returns trigger language plpgsql as $$
begin
    insert into chaos.made values ('conversation', new.user_id, new.conversation_id,
        chaos.number_of(coalesce(new.client_session_id, new.private_text)));
    return null;
end $$;
create function chaos.note_made_item() returns trigger language plpgsql as $$
begin
    insert into chaos.made values ('item', new.user_id, new.action_item_id, chaos.number_of(new.description));
    return null;
end $$;
create trigger chaos_made after insert on conversations for each row execute function chaos.note_made();
create trigger chaos_made after insert on action_items for each row when (new.conversation_id is null)
    execute function chaos.note_made_item();

-- Every state of an action item's date. `is_set`: it is open and has a date that it did not have before.
create table chaos.dues (
    seq bigserial primary key, at timestamptz default clock_timestamp(), tx bigint default pg_current_xact_id()::text::bigint,
    user_id text, item text, due_at timestamptz, completed boolean, is_set boolean
);
create function chaos.note_due() returns trigger language plpgsql as $$
begin
    insert into chaos.dues (user_id, item, due_at, completed, is_set)
    values (new.user_id, new.action_item_id, new.due_at, new.completed, new.due_at is not null and not new.completed
        and (tg_op = 'INSERT' or old.due_at is distinct from new.due_at));
    return null;
end $$;
create trigger chaos_due after insert or update of due_at, completed on action_items for each row
    execute function chaos.note_due();

-- Every state of a push.
create table chaos.push_history (
    seq bigserial primary key, at timestamptz default clock_timestamp(), tx bigint default pg_current_xact_id()::text::bigint,
    writer text default current_setting('application_name'), op text, user_id text, subscription_id text,
    delivery_id text, item text, notice text, due_at timestamptz, status text, epoch bigint, tries integer,
    sending_until timestamptz
);
create index on chaos.push_history (delivery_id);
create function chaos.note_push() returns trigger language plpgsql as $$
begin
    insert into chaos.push_history (op, user_id, subscription_id, delivery_id, item, notice, due_at, status, epoch, tries,
        sending_until)
    values (tg_op, new.user_id, new.subscription_id, new.delivery_id, new.action_item_id, new.notice, new.due_at,
        new.status, new.epoch, new.tries, new.sending_until);
    return null;
end $$;
create trigger chaos_note after insert or update on push_deliveries for each row execute function chaos.note_push();
create function chaos.see_push() returns trigger language plpgsql as $$
begin
    if exists (select from push_deliveries where user_id = new.user_id and subscription_id = new.subscription_id
            and delivery_id = new.delivery_id) then
        insert into chaos.double_writes values ('push', new.delivery_id, current_setting('application_name'));
    end if;
    return new;
end $$;
create trigger chaos_see before insert on push_deliveries for each row execute function chaos.see_push();

-- Items of bulk replays, when they are decided and when their jobs come to rest, and what the operation was then.
create table chaos.replay_history (
    seq bigserial primary key, tx bigint default pg_current_xact_id()::text::bigint,
    writer text default current_setting('application_name'), operation_id text, position integer, job_id text,
    generation bigint, old_status text, status text, result text, operation_status text
);
create function chaos.note_replay() returns trigger language plpgsql as $$
begin
    insert into chaos.replay_history (operation_id, position, job_id, generation, old_status, status, result,
        operation_status)
    values (new.operation_id, new.position, new.job_id, new.generation, old.status, new.status, new.result,
        (select status from replay_operations where operation_id = new.operation_id));
    return null;
end $$;
create trigger chaos_note after update on replay_items for each row execute function chaos.note_replay();

-- Where the kit's own log of these goes.
create table chaos.subscriptions (user_id text, subscription_id text);
create table chaos.named (
    at timestamptz, user_id text, name text, makes text, number bigint, status integer, made text, process text
);
create table chaos.spoken (user_id text, word text, number bigint, sends integer, confirmed boolean);
create table chaos.added (user_id text, conversation_id text, word text, status integer);
create table chaos.pushed (at timestamptz, endpoint text, delivery_id text, item text, due_at text, status integer);
