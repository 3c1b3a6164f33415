select number, shards
from listen_0000.listen_shard
