-- Dead letters by code: all, and those that are settled; the codes first of which most wait for an operator.
select code, sum(jobs)::bigint as jobs, sum(case when settled then jobs else 0 end)::bigint as settled
from dead_letter_totals
group by code having sum(jobs) > 0
order by sum(case when settled then 0 else jobs end) desc, 1
