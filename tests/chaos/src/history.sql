-- What only the kit installs: the history of every job, who wrote what in which transaction, and a switch for a
-- full disk. Nothing here belongs to the product.
create schema chaos;

create table chaos.history (
    seq bigserial primary key,
    at timestamptz not null default clock_timestamp(),
    writer text not null default current_setting('application_name'),
    tx bigint not null default pg_current_xact_id()::text::bigint,
    op text not null,
    user_id text, job_id text, conversation_id text, revision bigint, version bigint, epoch bigint, generation bigint,
    dispatch bigint, status text, worker text, lease_expires_at timestamptz, ready_at timestamptz, outcome text,
    dead_code text, attempts integer, crashes integer, requires_keys boolean, reconcile_after_at timestamptz
);
create index on chaos.history (job_id, version);

create function chaos.handed() returns text[] language sql immutable as $$
    select array['handed_dispatch', 'handed_at', 'hand_after', 'hand_tries']
$$;
create function chaos.note_job() returns trigger language plpgsql as $$
declare r finalization_jobs;
begin
    if tg_op = 'DELETE' then r := old; else r := new; end if;
    -- What the hand-over to a task queue writes is no version of a job: no decision reads it.
    if tg_op = 'UPDATE' and to_jsonb(new) - chaos.handed() = to_jsonb(old) - chaos.handed() then return null; end if;
    insert into chaos.history (op, user_id, job_id, conversation_id, revision, version, epoch, generation, dispatch, status,
        worker, lease_expires_at, ready_at, outcome, dead_code, attempts, crashes, requires_keys, reconcile_after_at)
    values (tg_op, r.user_id, r.job_id, r.conversation_id, r.revision, r.version, r.epoch, r.generation, r.dispatch, r.status,
        r.lease_worker, r.lease_expires_at, r.ready_at, r.outcome, r.dead_code, r.attempts, r.crashes, r.requires_keys,
        r.reconcile_after_at);
    return null;
end $$;
create trigger chaos_note after insert or update or delete on finalization_jobs
    for each row execute function chaos.note_job();

-- Checkpoints, beside the epoch that the job had at that moment.
create table chaos.checkpoints (job_id text, stage text, epoch bigint, job_epoch bigint, job_status text, writer text);
create function chaos.note_checkpoint() returns trigger language plpgsql as $$
begin
    insert into chaos.checkpoints select new.job_id, new.stage, new.epoch, j.epoch, j.status,
        current_setting('application_name') from finalization_jobs j where j.job_id = new.job_id;
    return null;
end $$;
create trigger chaos_note after insert or update on stage_checkpoints for each row execute function chaos.note_checkpoint();

-- Effects, with the transaction that wrote them; and writes of a row that was there already, which an
-- `on conflict do nothing` would hide.
create table chaos.effects (
    kind text, user_id text, conversation_id text, revision bigint, id text, event text, tx bigint, writer text,
    at timestamptz
);
create table chaos.double_writes (kind text, id text, writer text, at timestamptz default clock_timestamp());

create function chaos.note_item() returns trigger language plpgsql as $$
begin
    insert into chaos.effects values ('item', new.user_id, new.conversation_id, new.revision, new.action_item_id, null,
        pg_current_xact_id()::text::bigint, current_setting('application_name'), clock_timestamp());
    return null;
end $$;
create function chaos.see_item() returns trigger language plpgsql as $$
begin
    if exists (select from action_items where user_id = new.user_id and action_item_id = new.action_item_id) then
        insert into chaos.double_writes values ('item', new.action_item_id, current_setting('application_name'));
    end if;
    return new;
end $$;
create trigger chaos_note after insert on action_items for each row execute function chaos.note_item();
create trigger chaos_see before insert on action_items for each row execute function chaos.see_item();

create function chaos.note_memory() returns trigger language plpgsql as $$
begin
    insert into chaos.effects values ('memory', new.user_id, new.conversation_id, new.revision, new.memory_id, null,
        pg_current_xact_id()::text::bigint, current_setting('application_name'), clock_timestamp());
    return null;
end $$;
create function chaos.see_memory() returns trigger language plpgsql as $$
begin
    if exists (select from memories where user_id = new.user_id and memory_id = new.memory_id) then
        insert into chaos.double_writes values ('memory', new.memory_id, current_setting('application_name'));
    end if;
    return new;
end $$;
create trigger chaos_note after insert on memories for each row execute function chaos.note_memory();
create trigger chaos_see before insert on memories for each row execute function chaos.see_memory();

create function chaos.note_delivery() returns trigger language plpgsql as $$
begin
    insert into chaos.effects values ('delivery', new.user_id, new.conversation_id, new.revision, new.delivery_id,
        new.event, pg_current_xact_id()::text::bigint, current_setting('application_name'), clock_timestamp());
    return null;
end $$;
create function chaos.see_delivery() returns trigger language plpgsql as $$
begin
    if exists (select from webhook_deliveries where user_id = new.user_id and endpoint_id = new.endpoint_id
            and delivery_id = new.delivery_id) then
        insert into chaos.double_writes values ('delivery', new.delivery_id, current_setting('application_name'));
    end if;
    return new;
end $$;
create trigger chaos_note after insert on webhook_deliveries for each row execute function chaos.note_delivery();
create trigger chaos_see before insert on webhook_deliveries for each row execute function chaos.see_delivery();

-- Conversations, when their status changes.
create function chaos.note_conversation() returns trigger language plpgsql as $$
begin
    insert into chaos.effects values ('conversation', new.user_id, new.conversation_id, new.finalization_revision,
        new.conversation_id, new.status, pg_current_xact_id()::text::bigint, current_setting('application_name'),
        clock_timestamp());
    return null;
end $$;
create trigger chaos_note after update of status on conversations for each row
    when (old.status is distinct from new.status) execute function chaos.note_conversation();

-- A full disk.
create table chaos.full_tables (name text);
create function chaos.is_full() returns trigger language plpgsql as $$
begin
    if exists (select from chaos.full_tables where name = tg_table_name) then
        raise exception using errcode = '53100', message = 'could not extend file: No space left on device';
    end if;
    return null;
end $$;
do $$
declare t text;
begin
    foreach t in array array['finalization_jobs', 'finalization_totals', 'conversations',
        'transcript_segments', 'action_items', 'stage_checkpoints', 'webhook_deliveries', 'reminders', 'push_deliveries',
        'request_keys', 'replay_items'] loop
        execute format('create trigger chaos_full before insert or update on %I for each statement
            execute function chaos.is_full()', t);
    end loop;
end $$;

-- Where the kit's own log goes, once the run is over.
create table chaos.endpoints (user_id text, endpoint_id text);
create table chaos.answers (
    sent timestamptz, at timestamptz, user_id text, conversation_id text, verb text, status integer, word text,
    process text
);
create table chaos.posts (
    at timestamptz, endpoint text, delivery_id text, event text, signed boolean, digest bigint, status integer
);
create table chaos.calls (at timestamptz, number bigint, stage text, mood text, key_of text, words text);
create table chaos.said (number bigint, user_id text, conversation_id text, noise boolean);
create table chaos.broken (name text, began timestamptz, lifted timestamptz, pid bigint);
create table chaos.ran (name text, pid bigint);
