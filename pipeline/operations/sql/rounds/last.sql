select done_at, coalesce(every_seconds, $1)
from service_rounds
where name = 'reconciler'
