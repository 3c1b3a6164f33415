-- With the answer that was kept for the request that made the person: it holds the name.
with answers as (
    update request_keys
    set status = null, answer = null, running_until = 'epoch'
    where user_id = $1 and made && array[$2]
)
delete from people
where user_id = $1 and person_id = $2
