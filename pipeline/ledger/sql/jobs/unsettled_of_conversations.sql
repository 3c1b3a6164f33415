-- The dead letters of these conversations that wait for an operator. All are locked before the first is changed, and in the order of
-- the totals that each changes (`add_to_dead_total.sql`): of two batches that settle many, none waits for the other.
select j.*
from unnest($1::text[], $2::text[]) c (user_id, conversation_id)
join finalization_jobs j using (user_id, conversation_id)
where j.dead_code is not null
  and j.settled_at is null
order by j.dead_code, abs(hashtext(j.job_id) % 16), j.job_id
for no key update of j
