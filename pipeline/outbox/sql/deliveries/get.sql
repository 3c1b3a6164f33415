select delivery_id, event, conversation_id, revision, status, tries, epoch, last_status, last_error,
    -- One that waits for its endpoint to be enabled (`infinity`) has no next try.
    nullif(next_at, 'infinity') as next_at, coalesce(status = 'pending' and next_at = 'infinity', false) as parked,
    occurred_at, created_at, finished_at, history
from webhook_deliveries
where user_id = $1 and endpoint_id = $2 and delivery_id = $3
