-- Reads actions beside their readers and writers.
set local lock_timeout = '5s';

alter table operator_actions validate constraint action_known;
