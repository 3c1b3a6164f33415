set local lock_timeout = '5s';

-- The bucket of an app's requests, over all its keys and in every process: the time at which it is full again.
alter table apps add column requests_full_at timestamptz;
