-- A bulk replay is fenced by the lock of its row: its epoch is neither read nor raised.
set local lock_timeout = '5s';

alter table replay_operations drop column epoch;
