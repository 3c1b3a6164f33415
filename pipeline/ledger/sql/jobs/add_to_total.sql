update finalization_totals
set jobs = jobs + $3
where status = $1 and stripe = abs(hashtext($2) % 16)::smallint
