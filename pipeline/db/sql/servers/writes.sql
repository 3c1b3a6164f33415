-- Whether the server accepts writes.
select current_setting('transaction_read_only') = 'off'
