-- What a living process knows of its model servers.
update service_processes
set servers = $2
where process_id = $1
