-- Removes at most $3 of the messages of a thread, the oldest first, and their turns with them, unless a turn is running in it: how many
-- seconds that may still take, and how many were removed. One statement, so that no turn begins between the two.
-- $1 user, $2 thread, $3 how many
with running as (
    select greatest(1, ceil(extract(epoch from running_until - statement_timestamp())))::bigint as seconds
    from chat_turns where user_id = $1 and thread = $2 and status = 'running'
), oldest as (
    select message_id from chat_messages where user_id = $1 and thread = $2 and not exists (select from running)
    order by created_at limit $3
), cleared as (
    delete from chat_messages where user_id = $1 and message_id = any(array(select message_id from oldest))
    returning 1
)
select (select seconds from running) as running, (select count(*) from cleared) as cleared
