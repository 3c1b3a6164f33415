//! Several shards: which of them a page is of, and what lists say of those that do not answer.

use db::Shard;
use job::{JobId, Timestamp};
use operations::Operations;
use records::UserId;

use super::{Console, Fault};
use crate::over_shards::{Absence, Absent, ShardError, each, numbers};

/// Shards that answer: what a list is made of, and a form changes.
pub(super) struct Reached {
    pub(super) shards: Vec<Operations>,
    /// The clock of the first.
    pub(super) now: Timestamp,
    /// Those that do not.
    pub(super) away: Vec<Absent>,
}

impl Reached {
    /// Which shards a list is without.
    pub(super) fn without(&self, more: &[Absent]) -> Option<String> {
        without([&self.away[..], more].concat())
    }
}

/// Which shards a list is without, and why; nothing where all answered.
pub(super) fn without(away: Vec<Absent>) -> Option<String> {
    absent(away, "here")
}

/// The same in a page of which nothing of them is `part`.
pub(super) fn absent(mut away: Vec<Absent>, part: &str) -> Option<String> {
    away.sort_unstable();
    away.dedup();
    let said = [Absence::Silent, Absence::Schema, Absence::Fault].map(|why| {
        let shards = numbers(away.iter().filter(|(_, absence)| *absence == why).map(|(shard, _)| *shard));
        let words = match why {
            _ if shards.is_empty() => return String::new(),
            Absence::Silent => format!("No answer from shard {shards}"),
            Absence::Schema => format!("Not this program's schema in shard {shards}"),
            Absence::Fault => format!("An error, not an answer, from shard {shards} (see the log)"),
        };
        format!("{words}: nothing of it is {part}.")
    });
    let said: Vec<&str> = said.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// The user who is typed into a list's form, if one is.
pub(super) fn user(typed: &str) -> Option<UserId> {
    Some(typed.trim()).filter(|user| !user.is_empty()).map(UserId::new)
}

impl Console {
    /// All shards, by their numbers.
    pub(super) fn all(&self) -> Vec<Operations> {
        self.shards.iter().map(Operations::new).collect()
    }

    /// The shard of a user.
    pub(super) fn of_user(&self, user: &UserId) -> Operations {
        Operations::new(self.shards.of_user(user))
    }

    /// The shard of a job.
    pub(super) fn of_job(&self, job: &str) -> Operations {
        Operations::new(self.shards.of_job(&JobId::from_text(job)))
    }

    /// The shard of a bulk replay.
    pub(super) async fn of_replay(&self, id: &str) -> Result<Operations, Fault> {
        if self.shards.count() == 1 {
            return Ok(Operations::new(self.shards.first()));
        }
        let find = |shard: Operations| async move { shard.db().in_time(shard.replay_operation(id)).await };
        let found = each(&self.all(), find).await?;
        match (found.of.into_iter().find(|(_, replay)| replay.is_some()), found.away.first()) {
            (Some((shard, _)), _) => Ok(shard),
            (None, None) => Err(Fault::Missing(format!("There is no replay {id}."))),
            (None, Some((_, absence))) => Err((*absence).into()),
        }
    }

    /// Those of [`shards_of`](Self::shards_of) that answer.
    pub(super) async fn reached(&self, user: Option<&UserId>) -> Result<Reached, db::Error> {
        let clock = |shard: Operations| async move { shard.db().in_time(shard.db().now()).await };
        let found = each(&self.shards_of(user), clock).await?;
        let now = found.of.first().map(|(_, now)| *now).unwrap_or_default();
        Ok(Reached { shards: found.of.into_iter().map(|(shard, _)| shard).collect(), now, away: found.away })
    }

    /// The shards of a list, or of a form at one: all, or the one of the user who is named.
    pub(super) fn shards_of(&self, user: Option<&UserId>) -> Vec<Operations> {
        user.map_or_else(|| self.all(), |user| vec![self.of_user(user)])
    }
}

impl ShardError for db::Error {
    /// A pool knows what it has.
    async fn reach(_: &Operations) -> Result<(), Self> {
        Ok(())
    }

    /// A page shows the other shards, however one of them fails.
    fn absence(&self) -> Option<Absence> {
        Some(match Fault::of(self) {
            Fault::Database => Absence::Silent,
            Fault::Schema => Absence::Schema,
            _ => Absence::Fault,
        })
    }

    fn note(&self, shard: Shard) {
        match self.absence() {
            Some(Absence::Silent) => {
                tracing::debug!(%shard, error = %self, "a page of the console is without a shard");
            }
            _ => tracing::warn!(%shard, error = %self, "a page of the console is without a shard"),
        }
    }
}
