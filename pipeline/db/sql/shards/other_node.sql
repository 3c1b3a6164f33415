-- The node of the session's schema, when it is another than the session's own, takes sessions, and knows of all tables.
select n.nodename, n.nodeport
from pg_catalog.pg_dist_schema s
join pg_catalog.pg_dist_partition t on t.colocationid = s.colocationid
join pg_catalog.pg_dist_shard d on d.logicalrelid = t.logicalrelid
join pg_catalog.pg_dist_placement p on p.shardid = d.shardid
join pg_catalog.pg_dist_node n on n.groupid = p.groupid
where s.schemaid = to_regnamespace(current_setting('search_path'))::oid
  and n.groupid <> (select groupid from pg_catalog.pg_dist_local_group)
  and n.noderole = 'primary'
  and n.isactive
  and n.hasmetadata
  and n.metadatasynced
limit 1
