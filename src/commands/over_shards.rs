//! What a command asks of several shards: each is asked, and what they say is merged. One that does not answer keeps nothing
//! back of what the others say: it is named on stderr, and in the exit code.

use std::cmp::Ordering;

use futures::{StreamExt, stream};
use operations::Operations;
use records::Timestamp;

use super::table::there;
use crate::commands::stderr::note;
use crate::exit::{Exit, in_one_line, is_away};

/// So many shards are asked at once.
pub(crate) const AT_ONCE: usize = 16;

/// What each shard answered, in the order of their numbers.
pub(crate) struct Answers<T> {
    /// Those that did.
    pub(crate) of: Vec<(Operations, T)>,
    away: Vec<String>,
}

impl<T> Answers<T> {
    /// Fails unless every shard has answered.
    ///
    /// # Errors
    /// When a shard did not answer.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        match self.away.is_empty() {
            true => Ok(()),
            false => {
                let words = format!("not every shard answered: nothing of {}", self.away.join(", "));
                Err(Exit::Unavailable(words).into())
            }
        }
    }
}

/// Asks each of the shards, or orders it, once its server has answered.
///
/// # Errors
/// The first error, except of a shard that is unavailable while others answer.
pub(crate) async fn each<T>(
    shards: &[Operations],
    ask: impl AsyncFn(&Operations) -> anyhow::Result<T>,
) -> anyhow::Result<Answers<T>> {
    let ask = &ask;
    let asked = shards.iter().map(async |shard| ask(&there(shard).await?).await);
    let answered: Vec<anyhow::Result<T>> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let all_are_away = answered.iter().all(|answer| answer.as_ref().is_err_and(is_away));
    let mut answers = Answers { of: Vec::new(), away: Vec::new() };
    for (shard, answer) in shards.iter().zip(answered) {
        match answer {
            Ok(answer) => answers.of.push((shard.clone(), answer)),
            Err(error) if !all_are_away && is_away(&error) => {
                let shard = shard.db().shard();
                note!("shard {shard}: {}", in_one_line(&error));
                answers.away.push(shard.number.to_string());
            }
            Err(error) => return Err(error),
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
    answers: Answers<()>,
}

impl<T> Merged<T> {
    /// As [`Answers::complete`], once the list was printed.
    ///
    /// # Errors
    /// When a shard did not answer.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        self.answers.complete()
    }

    /// A shard that answered.
    pub(crate) fn first(&self) -> Option<&Operations> {
        self.answers.of.first().map(|(shard, ())| shard)
    }

    /// The first `limit` rows, and whether more follow.
    pub(crate) fn cut(&mut self, limit: i64) -> bool {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let follows = self.rows.len() > limit;
        self.rows.truncate(limit);
        follows
    }
}

/// Reads a list of each shard and merges them by `order`, in which each of them is. A row has the same place wherever it is, so
/// that a cursor is one of every shard.
///
/// # Errors
/// As [`each`].
pub(crate) async fn merged<T>(
    shards: &[Operations],
    read: impl AsyncFn(&Operations) -> anyhow::Result<Vec<T>>,
    order: impl Fn(&T, &T) -> Ordering,
) -> anyhow::Result<Merged<T>> {
    let read = &read;
    let answers = each(shards, async |shard| Ok((read(shard).await?, shard.db().now().await?))).await?;
    let Answers { of, away } = answers;
    let (mut rows, mut from, mut now) = (Vec::new(), Vec::new(), None);
    for (shard, (read, at)) in of {
        rows.extend(read);
        now = now.or(Some(at));
        from.push((shard, ()));
    }
    // The order of one shard is its own.
    if from.len() > 1 {
        rows.sort_by(order);
    }
    let now = now.ok_or_else(|| Exit::Unavailable("no shard answered".to_owned()))?;
    Ok(Merged { rows, now, answers: Answers { of: from, away } })
}

/// What stands before a line about one of several shards; nothing where there is one.
pub(crate) fn label(shard: &Operations) -> String {
    match shard.db().shard() {
        only if only.is_only() => String::new(),
        shard => format!("shard {shard}: "),
    }
}
