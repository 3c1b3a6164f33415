set local lock_timeout = '5s';

-- A phrase is checked passage by passage: passages whose words stand in their own row are checked three times as fast as those
-- whose words are fetched from beside the table. Rows that are there stay as they are until their conversation is indexed again.
alter table search_entries set (toast_tuple_target = 8160);
