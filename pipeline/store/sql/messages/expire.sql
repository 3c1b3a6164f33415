-- Turns of a thread whose process is gone: nothing is done again by itself, because tools have effects.
-- $1 user, $2 thread, $3 now
update chat_turns set status = 'failed', trouble = 'interrupted'
where user_id = $1 and thread = $2 and status = 'running' and running_until <= $3
