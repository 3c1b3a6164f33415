-- In how many seconds the empty bucket of an app holds one again.
select greatest(0, extract(epoch from
    requests_full_at - interval '1 minute' + interval '1 minute' / $3 - statement_timestamp()))::float8
from apps where user_id = $1 and app_id = $2
