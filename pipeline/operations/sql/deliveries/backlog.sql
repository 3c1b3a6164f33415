-- Each counted to 10,000, by the index of what is due next: its condition is said in its words.
select 'due' as state, count(*)
from (
    select from webhook_deliveries
    where status = 'pending' and delivery_id > '' and next_at <= $1
    limit 10000
) due
union all
select 'later', count(*)
from (
    select from webhook_deliveries
    where status = 'pending' and delivery_id > '' and next_at > $1 and next_at < 'infinity'
    limit 10000
) later
union all
select 'paused', count(*)
from (
    select from webhook_deliveries
    where status = 'pending' and delivery_id > '' and next_at = 'infinity'
    limit 10000
) paused
union all
select 'sending', count(*)
from (select from webhook_deliveries where status = 'sending' limit 10000) sending
