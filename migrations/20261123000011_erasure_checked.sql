-- Beside readers and writers, after the file that added it.
set local lock_timeout = '5s';

alter table operator_actions validate constraint action_known;
