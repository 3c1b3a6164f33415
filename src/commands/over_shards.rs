//! How a command asks or orders several shards: a server that is not there is found at once, and named on stderr.

use db::Shard;
use operations::Operations;

pub(crate) use crate::over_shards::{AT_ONCE, Answers, label};

use super::table::there;
use crate::{
    commands::stderr::note,
    exit::{Exit, in_one_line, is_away, of_shard},
    over_shards::{self, Absence, ShardError, numbers},
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

/// Asks each of the shards.
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

/// Gives an order to every shard, also where others fail.
pub(crate) async fn order<T>(
    shards: &[Operations],
    give: impl AsyncFn(&Operations) -> anyhow::Result<T>,
) -> (Vec<(Operations, T)>, Failures) {
    let give = &give;
    let (mut done, mut failures) = (Vec::new(), Failures::default());
    let give = |shard: Operations| async move { give(&shard).await };
    for (shard, answer) in over_shards::each_alone(shards, give).await {
        match answer {
            Ok(answer) => done.push((shard, answer)),
            Err(error) => failures.add(&shard, error),
        }
    }
    (done, failures)
}

/// What an order says at its end that did not end in every shard.
pub(crate) const NOT_EVERYWHERE: &str = "not done in every shard";

/// Shards in which an order ended with an error, kept until the command has printed what was done.
#[derive(Default)]
pub(crate) struct Failures(Vec<(Shard, anyhow::Error)>);

impl Failures {
    pub(crate) fn add(&mut self, shard: &Operations, error: anyhow::Error) {
        let shard = shard.db().shard();
        self.0.push((shard, of_shard(error, shard)));
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the order ended with an error in this shard.
    pub(crate) fn are_of(&self, shard: &Operations) -> bool {
        self.0.iter().any(|(failed, _)| *failed == shard.db().shard())
    }

    /// Ends the command; `words` say that it is not done everywhere.
    ///
    /// # Errors
    /// The first that is no outage, or else that shards do not answer. All others are noted on stderr.
    pub(crate) fn end(mut self, words: &str) -> anyhow::Result<()> {
        let first = match self.0.len() {
            1 => Some(0),
            _ => self.0.iter().position(|(_, error)| !is_away(error)),
        };
        let first = first.map(|place| self.0.remove(place).1);
        self.0.iter().for_each(|(shard, error)| error.note(*shard));
        match (first, self.0.as_slice()) {
            (Some(error), _) => Err(error),
            (None, []) => Ok(()),
            (None, away) => {
                let away = numbers(away.iter().map(|(shard, _)| shard.number));
                Err(Exit::Unavailable(format!("{words}: no answer from {away}")).into())
            }
        }
    }
}
