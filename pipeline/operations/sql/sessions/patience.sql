-- How long each statement of the transaction may take.
select set_config('statement_timeout', $1, true)
