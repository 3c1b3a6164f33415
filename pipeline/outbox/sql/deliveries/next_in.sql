-- Seconds until a delivery can be claimed.
select extract(epoch from least(
    (select min(next_at) from webhook_deliveries where status = 'pending' and delivery_id > '' and next_at < 'infinity'),
    (select min(sending_until) from webhook_deliveries where status = 'sending')
) - clock_timestamp())::float8
