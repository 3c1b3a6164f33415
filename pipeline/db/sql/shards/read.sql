select number, shards
from listen_shard
