-- Begins a turn; no row where one is running in the thread, or where the request began one.
-- $1 user, $2 thread, $3 the message's id, $4 the reply's id, $5 now, $6 the request's id, $7 seconds that it may run
insert into chat_turns (user_id, thread, question_id, reply_id, begun_at, request_id, status, running_until)
values ($1, $2, $3::uuid, $4::uuid, $5, $6, 'running', $5::timestamptz + $7 * interval '1 second')
on conflict do nothing
