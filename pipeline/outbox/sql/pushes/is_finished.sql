-- Whether the end of a try was written before, under the same claim.
select exists (
    select
    from push_deliveries
    where user_id = $1
      and subscription_id = $2
      and delivery_id = $3
      and epoch = $4
      and status = $5
      and last_error is not distinct from $6
)
