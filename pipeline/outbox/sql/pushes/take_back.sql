-- Cancels what is still to be sent of items $2.
update push_deliveries
set status = 'cancelled',
    next_at = null,
    sending_until = null,
    finished_at = $3
where user_id = $1
  and action_item_id = any ($2)
  and status in ('pending', 'sending')
