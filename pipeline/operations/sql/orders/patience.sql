-- A list of many jobs may take longer than any other statement.
select set_config('statement_timeout', '60s', true)
