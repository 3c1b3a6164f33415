-- Takes chosen deliveries that are still due and unlocked, until $5, with what their endpoints say. In a `case` no index of what is due
-- is offered in place of the key.
with picked as (
    select d.user_id, d.endpoint_id, d.delivery_id
    from webhook_deliveries d
    join unnest($1::text[], $2::text[], $3::text[]) t (user_id, endpoint_id, delivery_id)
        using (user_id, endpoint_id, delivery_id)
    where case d.status when 'pending' then d.next_at when 'sending' then d.sending_until end <= $4
    for update of d skip locked
)
update webhook_deliveries d
set status = 'sending',
    epoch = d.epoch + 1,
    tries = d.tries + 1,
    sending_until = $5,
    next_at = null
from picked p
join webhook_endpoints e using (user_id, endpoint_id)
where d.user_id = p.user_id
  and d.endpoint_id = p.endpoint_id
  and d.delivery_id = p.delivery_id
returning d.user_id, d.endpoint_id as receiver_id, d.delivery_id, d.epoch, d.tries, e.url, e.secret,
          case when e.previous_secret_until > $4 then e.previous_secret end as previous_secret,
          e.app_id is not null as for_app, e.format, d.event, d.occurred_at, d.conversation_id, d.subject_id, d.body,
          d.trace_context
