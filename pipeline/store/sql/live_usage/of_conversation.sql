select engine, own_key, sum(received_seconds) as received_seconds, sum(recognized_seconds) as recognized_seconds,
    sum(utterances)::bigint as utterances, sum(gap_seconds) as gap_seconds, sum(cost) as cost
from live_usage where user_id = $1 and conversation_id = $2
group by engine, own_key order by engine, own_key
