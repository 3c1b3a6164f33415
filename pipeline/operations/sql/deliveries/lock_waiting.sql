-- One delivery, and where it stands: under way, ended, due already, or waiting for a moment.
select case
        when status = 'sending' then 'under_way'
        when status <> 'pending' then 'ended'
        when next_at <= $4 then 'ready'
        else 'waiting'
    end
from webhook_deliveries
where user_id = $1
  and endpoint_id = $2
  and delivery_id = $3
for update
