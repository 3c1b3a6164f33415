-- Counts and writes one message, unless ten were sent within the last hour. The install is locked by the statement before, so
-- that this one sees every message that was counted, and the clock goes on behind it. Returns how many count now, since when
-- the oldest of them does, and whether this one was written. One that is to come was sent before the database's clock was set back.
with clock as materialized (select clock_timestamp() as now),
counted as (
    select array(
            select sent from unnest(i.sends) sent
            where sent > clock.now - interval '1 hour' and sent <= clock.now order by sent) as sends,
        clock.now
    from app_installs i, clock where i.user_id = $1 and i.app_id = $2),
written as (
    insert into chat_messages (user_id, thread, message_id, created_at, sender, app_id, text)
    select $1, $3, $4::uuid, counted.now, 'app', $2::uuid, $5 from counted
    where cardinality(counted.sends) < $6
    returning created_at),
noted as (
    update app_installs i set sends = counted.sends || array(select created_at from written)
    from counted where i.user_id = $1 and i.app_id = $2
    returning 1)
select cardinality(counted.sends) + (select count(*)::integer from written) as used,
    extract(epoch from coalesce(counted.sends[1], counted.now) + interval '1 hour' - counted.now)::double precision
        as frees_in,
    exists (select from written) as is_written,
    counted.now
from counted
