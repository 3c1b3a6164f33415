-- A webhook secret that was replaced goes on signing beside its successor for a while.
set local lock_timeout = '5s';

alter table webhook_endpoints
    add column previous_secret text,
    add column previous_secret_until timestamptz,
    add constraint previous_secret_ends check ((previous_secret is null) = (previous_secret_until is null));
-- What did not get through, for the owner who asks for it once more.
create index webhook_deliveries_lost on webhook_deliveries (user_id, endpoint_id, occurred_at)
    where status in ('exhausted', 'cancelled');
