-- Renews the lease of a turn before a tool changes something; no row where the lease ran out, because the turn reads as interrupted
-- since.
-- $1 user, $2 the reply's id, $3 seconds of the lease
update chat_turns set running_until = statement_timestamp() + $3 * interval '1 second'
where user_id = $1 and reply_id = $2::uuid and status = 'running' and running_until > statement_timestamp()
