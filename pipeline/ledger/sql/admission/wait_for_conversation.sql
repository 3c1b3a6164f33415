-- Waits for the lock of one conversation that a batch found locked.
select from conversations where user_id = $1 and conversation_id = $2 for no key update
