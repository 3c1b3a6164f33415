-- The counts of runs that a process has ended since it began.
update service_processes
set ended = $1
where process_id = $2
