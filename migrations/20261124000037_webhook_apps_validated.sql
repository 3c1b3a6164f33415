-- Reads endpoints and actions beside their readers and writers.
set local lock_timeout = '5s';

alter table webhook_endpoints validate constraint format_known;
alter table operator_actions validate constraint action_known;
