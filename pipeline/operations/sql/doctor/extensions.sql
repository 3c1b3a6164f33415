select extname::text
from pg_extension
where extname <> 'plpgsql'
order by 1
