-- Tries under way, by subscription; as many as all processes have slots: few.
select user_id, subscription_id as receiver_id, count(*) as tries
from push_deliveries
where status = 'sending'
  and sending_until > $1
group by user_id, subscription_id
