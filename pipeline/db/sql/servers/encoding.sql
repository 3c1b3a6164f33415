-- How the database stores texts.
select current_setting('server_encoding')
