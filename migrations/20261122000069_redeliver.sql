-- An operator's redelivery of one webhook is an action of its own, and actions are found by what they were about.
set local lock_timeout = '5s';

alter table operator_actions drop constraint action_known;
alter table operator_actions add constraint action_known check (action in ('replay', 'discard', 'pause', 'resume',
    'recount', 'bulk_replay', 'pause_bulk', 'resume_bulk', 'cancel_bulk', 'enable_webhook', 'recover_webhook',
    'redeliver_webhook'));
create index operator_actions_of_subject on operator_actions (user_id, subject, created_at desc)
    where subject is not null;
