select queue, operator, reason, paused_at
from queue_pauses
order by queue
