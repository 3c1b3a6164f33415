//! How a command asks several shards: a server that is not there is found at once, and named on stderr.

use db::Shard;
use operations::Operations;

pub(crate) use crate::over_shards::{AT_ONCE, Answers, label};

use super::table::there;
use crate::{
    commands::stderr::note,
    exit::{in_one_line, is_away, of_shard},
    over_shards::{self, Absence, ShardError},
};

impl ShardError for anyhow::Error {
    async fn reach(shard: &Operations) -> Result<(), Self> {
        there(shard).await.map(drop)
    }

    fn absence(&self) -> Option<Absence> {
        is_away(self).then_some(Absence::Silent)
    }

    fn note(&self, shard: Shard) {
        let (name, words) = (format!("shard {shard}"), in_one_line(self));
        match words.starts_with(&name) {
            true => note!("{words}"),
            false => note!("{name}: {words}"),
        }
    }
}

/// Asks each of the shards, or orders it.
///
/// # Errors
/// The first error, except of a shard that is unavailable while others answer.
pub(crate) async fn each<T>(
    shards: &[Operations],
    ask: impl AsyncFn(&Operations) -> anyhow::Result<T>,
) -> anyhow::Result<Answers<T>> {
    let ask = &ask;
    let named = |shard: Operations| async move {
        ask(&shard).await.map_err(|error| of_shard(error, shard.db().shard()))
    };
    over_shards::each(shards, named).await
}
