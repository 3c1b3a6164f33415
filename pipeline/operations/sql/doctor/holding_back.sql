select 'prepared transaction ' || gid
from pg_prepared_xacts
where prepared < statement_timestamp() - interval '1 minute'
union all
select 'replication slot ' || slot_name
from pg_replication_slots
where not active and (xmin is not null or catalog_xmin is not null)
