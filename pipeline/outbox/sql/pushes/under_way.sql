-- Tries under way, by user; as many as all processes have slots: few.
select user_id, count(*) as tries
from push_deliveries
where status = 'sending'
  and sending_until > $1
group by user_id
