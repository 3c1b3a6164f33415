delete from queue_pauses
where queue = $1
