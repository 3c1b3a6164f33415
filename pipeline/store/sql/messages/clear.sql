-- Removes the messages of a thread, and their turns with them, unless a turn is running in it: how many seconds that may still
-- take. One statement, so that no turn begins between the two.
-- $1 user, $2 thread
with running as (
    select greatest(1, ceil(extract(epoch from running_until - statement_timestamp())))::bigint as seconds
    from chat_turns where user_id = $1 and thread = $2 and status = 'running'
), cleared as (
    delete from chat_messages where user_id = $1 and thread = $2 and not exists (select from running)
)
select seconds from running
