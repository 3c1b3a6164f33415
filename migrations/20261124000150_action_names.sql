-- The names of operators' actions are the program's: a new one is no migration.
set local lock_timeout = '5s';

alter table operator_actions drop constraint action_known;
alter table operator_actions add constraint action_known check (action ~ '^[a-z]+(_[a-z]+)*$') not valid;
