-- Our role, where it sees no transactions but its own.
select current_user::text
where not pg_has_role(current_user, 'pg_read_all_stats', 'usage')
