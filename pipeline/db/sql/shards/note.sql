insert into listen_shard (number, shards)
values ($1, $2)
on conflict (number) do nothing
