-- Webhooks that belong to an installed app, and what operators may do to apps.
set local lock_timeout = '5s';

-- The app whose installation made the endpoint; null: the user's own.
alter table webhook_endpoints add column app_id text;
alter table webhook_endpoints drop constraint format_known;
alter table webhook_endpoints add constraint format_known check (format in ('full', 'thin', 'bare')) not valid;

alter table operator_actions drop constraint action_known;
alter table operator_actions add constraint action_known check (action in ('replay', 'discard', 'pause', 'resume',
    'recount', 'bulk_replay', 'pause_bulk', 'resume_bulk', 'cancel_bulk', 'enable_webhook', 'recover_webhook',
    'redeliver_webhook', 'delete_user', 'switch_off_app', 'switch_on_app')) not valid;
