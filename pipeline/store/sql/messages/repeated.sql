-- The turn that a request of this id began.
-- $1 user, $2 thread, $3 the request's id
select reply_id::text from chat_turns where user_id = $1 and thread = $2 and request_id = $3
