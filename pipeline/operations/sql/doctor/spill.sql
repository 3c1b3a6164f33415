-- More rows than fit into the memory that they are given.
select count(*) from generate_series(1, 20000)
