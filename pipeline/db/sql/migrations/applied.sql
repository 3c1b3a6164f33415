select version
from _sqlx_migrations
where success
order by version
