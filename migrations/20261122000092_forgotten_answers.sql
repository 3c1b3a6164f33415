-- What was deleted is forgotten in kept answers too: found by the ids of what a request made.
set local lock_timeout = '5s';

create index request_keys_made on request_keys using gin (made);
