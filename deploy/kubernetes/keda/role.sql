-- The role that KEDA asks with: psql "$URL" -f role.sql, as a superuser, after `listen migrate`; then `\password listen_scaler`.
-- It sees three columns of the jobs, none of which holds anything that a person said, and which queues are paused.
create role listen_scaler login connection limit 10;
grant select (queue, status, ready_at) on finalization_jobs to listen_scaler;
grant select (queue) on queue_pauses to listen_scaler;
alter role listen_scaler set statement_timeout = '5s';
alter role listen_scaler set default_transaction_read_only = on;
