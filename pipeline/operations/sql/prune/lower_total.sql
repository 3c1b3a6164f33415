-- $3 jobs of a status and stripe are gone.
update finalization_totals
set jobs = jobs - $3
where status = $1
  and stripe = $2
