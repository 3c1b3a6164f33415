-- Erasing a user (`listen users delete`): the mark of a user who is being erased, what the audit says of an erasure, and the
-- epoch above which the jobs of users created after it begin.
set local lock_timeout = '5s';

alter table users add column deleting_since timestamptz;
-- The epoch at which the user's jobs are admitted: above every epoch of an erased user, so that a late write of an old run
-- cannot pass the fence of a job that has the same id.
alter table users add column first_epoch bigint not null default 0;

create table epoch_floor (
    is_only_row boolean not null default true,
    epoch       bigint  not null,
    constraint epoch_floor_pkey primary key (is_only_row),
    constraint epoch_floor_has_one_row check (is_only_row)
);
insert into epoch_floor (epoch) values (0);

-- Counts and states, never a user's words.
alter table operator_actions add column detail text;
alter table operator_actions drop constraint action_known;
alter table operator_actions add constraint action_known check (action in ('replay', 'discard', 'pause', 'resume',
    'recount', 'bulk_replay', 'pause_bulk', 'resume_bulk', 'cancel_bulk', 'enable_webhook', 'recover_webhook',
    'redeliver_webhook', 'delete_user')) not valid;
