-- As if their owner had disabled them: operators do not enable them again.
update webhook_endpoints
set enabled = false, disabled_reason = 'by_owner', updated_at = $2
where user_id = $1 and disabled_reason is distinct from 'by_owner'
