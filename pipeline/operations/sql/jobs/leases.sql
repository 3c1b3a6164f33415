-- Who holds leases, and how old the oldest job is that waits for its user's key; conditions as in `ages.sql`.
select
    count(distinct lease_worker) as lease_holders,
    count(*) filter (where lease_expires_at < $1) as leases_overdue,
    greatest(extract(epoch from $1 - min(lease_claimed_at)), 0)::float8 as oldest_lease_age,
    greatest(
        extract(
            epoch from $1 - (
                select admitted_at
                from finalization_jobs
                where finished_at is null
                  and admitted_at > '-infinity'
                  and status = 'blocked_byok'
                order by admitted_at
                limit 1
            )
        ),
        0
    )::float8 as oldest_parked_age
from finalization_jobs
where status = 'leased'
