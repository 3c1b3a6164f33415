select
    (
        select count(*)
        from (select from webhook_deliveries where status = 'pending' and next_at <= $1 limit 10000) due
    ),
    (
        select count(*)
        from (
            select from webhook_deliveries
            where status = 'pending' and next_at > $1 and next_at < 'infinity'
            limit 10000
        ) later
    ),
    (
        select count(*)
        from (
            select from webhook_deliveries
            where status = 'pending' and next_at = 'infinity'
            limit 10000
        ) paused
    ),
    (select count(*) from (select from webhook_deliveries where status = 'sending' limit 10000) sending)
