select pg_try_advisory_lock(hashtext('listen migrate'))
