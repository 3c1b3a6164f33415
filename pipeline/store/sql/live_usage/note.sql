-- A socket's counts only grow: a repeat and an older count change nothing. A conversation that is gone has none.
insert into live_usage as u (user_id, conversation_id, live_epoch, engine, own_key, received_seconds,
    recognized_seconds, utterances, gap_seconds, cost)
select user_id, conversation_id, $3, $4, $5, $6, $7, $8, $9, $10 from conversations
where user_id = $1 and conversation_id = $2
on conflict (user_id, conversation_id, live_epoch) do update set
    received_seconds = greatest(u.received_seconds, excluded.received_seconds),
    recognized_seconds = greatest(u.recognized_seconds, excluded.recognized_seconds),
    utterances = greatest(u.utterances, excluded.utterances),
    gap_seconds = greatest(u.gap_seconds, excluded.gap_seconds),
    cost = greatest(u.cost, excluded.cost)
