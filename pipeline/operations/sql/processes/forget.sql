-- A process that has ended in order is forgotten.
delete from service_processes where process_id = $1
