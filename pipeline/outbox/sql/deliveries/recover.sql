-- Makes at most $6 of an endpoint's deliveries that happened at $3 or later and were given up before $4 due at $5, or
-- when the endpoint is enabled. What was about a deleted conversation stays cancelled. Answers how many, and when the last
-- of them happened.
with lost as (
    select delivery_id
    from webhook_deliveries d
    where user_id = $1
      and endpoint_id = $2
      and status in ('exhausted', 'cancelled')
      and occurred_at >= $3
      and finished_at < $4
      and (conversation_id is null
           or exists (select from conversations c
                      where c.user_id = d.user_id
                        and c.conversation_id = d.conversation_id))
    order by occurred_at, delivery_id
    limit $6
    for update
),
due as (
    update webhook_deliveries d
    set status = 'pending',
        tries = 0,
        finished_at = null,
        next_at = coalesce($5::timestamptz, 'infinity')
    from lost l
    where d.user_id = $1
      and d.endpoint_id = $2
      and d.delivery_id = l.delivery_id
    returning d.occurred_at
)
select count(*) as deliveries, max(occurred_at) as last
from due
