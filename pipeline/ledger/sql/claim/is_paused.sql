select exists (select from queue_pauses where queue = $1)
