-- Dead letters by code: those that wait for an operator, and those that are settled.
select code, sum(case when settled then 0 else jobs end)::bigint, sum(case when settled then jobs else 0 end)::bigint
from dead_letter_totals
group by code having sum(jobs) > 0
order by 2 desc, 1
