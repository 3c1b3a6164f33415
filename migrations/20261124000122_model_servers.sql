-- What each process knows of the model servers that it asks.
set local lock_timeout = '5s';

-- A list of servers with their last answers, written every few seconds; null: the process asks none.
alter table service_processes add column servers jsonb;
