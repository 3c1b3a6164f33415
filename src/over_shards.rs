//! Asks several shards and merges their answers. A shard that does not answer is named; the others' answers stand. The command line
//! and the console both ask this way.

use std::cmp::Ordering;

use db::Shard;
use futures::{StreamExt, stream};
use operations::Operations;
use records::Timestamp;

use crate::exit::Exit;

/// So many shards are asked at once.
pub(crate) const AT_ONCE: usize = 16;

/// Why an answer holds nothing of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Absence {
    /// Its database does not answer.
    Silent,
    /// Its schema is not this program's.
    Schema,
    /// It answers with another fault.
    Fault,
}

/// A shard of which an answer holds nothing, by its number.
pub(crate) type Absent = (u16, Absence);

/// An error of one shard of several.
pub(crate) trait ShardError: From<db::Error> + Send {
    /// Sees whether the shard's server is there, before anything is asked of it.
    fn reach(shard: &Operations) -> impl Future<Output = Result<(), Self>> + Send;

    /// Why the shard is absent from an answer that stands without it; `None`: the error is that of the whole answer.
    fn absence(&self) -> Option<Absence>;

    /// Records that this shard is absent while others answer.
    fn note(&self, shard: Shard);
}

/// What each shard answered, in the order of their numbers.
pub(crate) struct Answers<T> {
    /// Those that did.
    pub(crate) of: Vec<(Operations, T)>,
    /// Those that did not.
    pub(crate) away: Vec<Absent>,
}

impl<T> Answers<T> {
    /// Whether all is said.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        complete(&self.away)
    }
}

fn complete(away: &[Absent]) -> anyhow::Result<()> {
    match away {
        [] => Ok(()),
        away => {
            let words = format!(
                "not every shard answered: nothing of {}",
                numbers(away.iter().map(|(shard, _)| *shard))
            );
            Err(Exit::Unavailable(words).into())
        }
    }
}

/// Numbers of shards in words.
pub(crate) fn numbers(shards: impl Iterator<Item = u16>) -> String {
    shards.map(|shard| shard.to_string()).collect::<Vec<_>>().join(", ")
}

/// Asks each of the shards, or gives it an order, once its server is there. Answers in the order of their numbers.
pub(crate) async fn each_alone<T, E: ShardError, F: Future<Output = Result<T, E>>>(
    shards: &[Operations],
    ask: impl Fn(Operations) -> F,
) -> Vec<(Operations, Result<T, E>)> {
    let asked = shards.iter().cloned().map(|shard| {
        let asking = ask(shard.clone());
        async move {
            let answer = match E::reach(&shard).await {
                Ok(()) => asking.await,
                Err(error) => Err(error),
            };
            (shard, answer)
        }
    });
    stream::iter(asked.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await
}

/// The same where the answers are read together: shards that are away are named.
///
/// # Errors
/// The error of a shard that answered with one, or of any shard when none answers.
pub(crate) async fn each<T, E: ShardError, F: Future<Output = Result<T, E>>>(
    shards: &[Operations],
    ask: impl Fn(Operations) -> F,
) -> Result<Answers<T>, E> {
    let answered = each_alone(shards, ask).await;
    let all_are_away =
        answered.iter().all(|(_, answer)| answer.as_ref().is_err_and(|error| error.absence().is_some()));
    let mut answers = Answers { of: Vec::new(), away: Vec::new() };
    for (shard, answer) in answered {
        let error = match answer {
            Ok(answer) => {
                answers.of.push((shard, answer));
                continue;
            }
            Err(error) => error,
        };
        match error.absence() {
            Some(absence) if !all_are_away => {
                let shard = shard.db().shard();
                error.note(shard);
                answers.away.push((shard.number, absence));
            }
            _ => return Err(error),
        }
    }
    Ok(answers)
}

/// Rows of a list over all shards.
pub(crate) struct Merged<T> {
    /// In the order of the list.
    pub(crate) rows: Vec<T>,
    /// The clock of the first shard that answered.
    pub(crate) now: Timestamp,
    /// A shard that answered.
    pub(crate) first: Option<Operations>,
    /// The shards that did not answer.
    pub(crate) away: Vec<Absent>,
}

impl<T> Merged<T> {
    /// As [`Answers::complete`], once the list was printed.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        complete(&self.away)
    }

    /// Leaves the first `limit` rows. The last of them, if others follow.
    pub(crate) fn cut(&mut self, limit: i64) -> Option<&T> {
        cut(&mut self.rows, limit)
    }
}

/// The same of the rows of one shard.
pub(crate) fn cut<T>(rows: &mut Vec<T>, limit: i64) -> Option<&T> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let follows = rows.len() > limit;
    rows.truncate(limit);
    rows.last().filter(|_| follows)
}

/// Reads a list of each shard and merges them by `order`, in which each of them is. A row has the same place wherever it is, so
/// that a cursor is one of every shard.
pub(crate) async fn merged<T, E: ShardError, F: Future<Output = Result<Vec<T>, E>>>(
    shards: &[Operations],
    read: impl Fn(Operations) -> F,
    order: impl Fn(&T, &T) -> Ordering,
) -> Result<Merged<T>, E> {
    let clocked = |shard: Operations| {
        let reading = read(shard.clone());
        async move {
            let rows = reading.await?;
            Ok::<_, E>((rows, shard.db().in_time(shard.db().now()).await?))
        }
    };
    let Answers { of, away } = each(shards, clocked).await?;
    let are_several = of.len() > 1;
    let first = of.first().map(|(shard, _)| shard.clone());
    let now = of.first().map(|(_, (_, now))| *now).unwrap_or_default();
    let mut rows: Vec<T> = of.into_iter().flat_map(|(_, (rows, _))| rows).collect();
    // The order of one shard is its own.
    if are_several {
        rows.sort_by(order);
    }
    Ok(Merged { rows, now, first, away })
}

/// What stands before a line about one of several shards; nothing where there is one.
pub(crate) fn label(shard: &Operations) -> String {
    match shard.db().shard() {
        only if only.is_only() => String::new(),
        shard => format!("shard {shard}: "),
    }
}
