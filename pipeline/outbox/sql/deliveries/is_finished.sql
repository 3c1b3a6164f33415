-- Whether the end of a try was written before, under the same claim. When the next try comes is not compared, for what waits may
-- have been moved since; the error is, for a sender that was given up leaves the claim's epoch behind, too.
select exists (
    select
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and delivery_id = $3
      and epoch = $4
      and status = $5
      and last_error is not distinct from $6
)
