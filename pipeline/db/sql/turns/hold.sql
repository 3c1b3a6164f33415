-- Renews the lease of a turn before something is changed in its name; no row where the lease ran out, because the turn reads as
-- interrupted since. The row stays locked until the transaction ends: no other turn begins in the thread meanwhile.
-- $1 user, $2 the reply's id, $3 seconds of the lease
update chat_turns set running_until = statement_timestamp() + $3 * interval '1 second'
where user_id = $1 and reply_id = $2::uuid and status = 'running' and running_until > statement_timestamp()
