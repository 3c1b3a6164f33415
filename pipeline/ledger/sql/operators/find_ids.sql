-- Ids that are $3, or begin or end with it where $4 is set; of one kind ($1) or all, of one user ($2) or all.
-- Planned for its arguments: branches of other kinds fall away, and a whole id is found through an index.
select kind, user_id, id
from (
    select 'job' as kind, user_id, job_id as id from finalization_jobs
    union all
    select 'conversation', user_id, conversation_id from conversations
    union all
    select 'user', user_id, user_id from users
    union all
    select 'replay', '', operation_id from replay_operations
    union all
    select 'endpoint', user_id, endpoint_id from webhook_endpoints
    union all
    select 'delivery', user_id, delivery_id from webhook_deliveries
    union all
    select 'app', user_id, app_id from apps
    union all
    select 'app_key', user_id, key_id from app_keys
    union all
    select 'key', user_id, key_id from developer_keys
    union all
    select 'folder', user_id, folder_id from folders
) found
where ($1::text is null or kind = $1)
    and ($2::text is null or user_id = $2)
    and (id = $3 or $4 and (starts_with(id, $3) or right(id, length($3)) = $3))
order by kind, id
limit $5
