-- Writes deliveries that are due at $1 to endpoints that are still enabled; one that was written before stays as it is.
insert into webhook_deliveries (
    user_id,
    endpoint_id,
    delivery_id,
    event,
    conversation_id,
    revision,
    subject_id,
    trace_context,
    status,
    next_at,
    occurred_at,
    created_at
)
select
    t.user_id,
    t.endpoint_id,
    t.delivery_id,
    t.event,
    t.conversation_id,
    t.revision,
    t.subject_id,
    t.trace_context,
    'pending',
    $1,
    $1,
    $1
from unnest(
    $2::text[],
    $3::text[],
    $4::text[],
    $5::text[],
    $6::text[],
    $7::bigint[],
    $8::text[],
    $9::text[]
) t (user_id, endpoint_id, delivery_id, event, conversation_id, revision, subject_id, trace_context)
join webhook_endpoints e on e.user_id = t.user_id and e.endpoint_id = t.endpoint_id and e.enabled
for key share of e
on conflict do nothing
returning delivery_id
