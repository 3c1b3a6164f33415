//! Several shards: which of them a page is of, what lists say of those that do not answer, and what a form did in each.

use axum::response::Response;
use db::Shard;
use job::{JobId, Timestamp, shard_of_user};
use operations::Operations;
use records::UserId;

use super::{
    Console,
    fault::{Fault, Undone},
    page::{Frame, Message, Part, render},
};
use crate::over_shards::{ShardError, each, numbers};

/// Shards that answer: what a list is made of, and a form changes.
pub(super) struct Reached {
    pub(super) shards: Vec<Operations>,
    /// The clock of the first.
    pub(super) now: Timestamp,
    /// The numbers of those that do not.
    pub(super) away: Vec<u16>,
}

impl Reached {
    /// Which shards a list is without.
    pub(super) fn without(&self, more: &[u16]) -> Option<String> {
        without([&self.away[..], more].concat())
    }
}

/// Which shards a list is without; nothing where all answered.
pub(super) fn without(mut away: Vec<u16>) -> Option<String> {
    away.sort_unstable();
    away.dedup();
    (!away.is_empty()).then(|| format!("No answer from shard {}: nothing of it is here.", numbers(&away)))
}

impl Console {
    /// The shard of a user.
    pub(super) fn of_user(&self, user: &UserId) -> &Operations {
        self.numbered(shard_of_user(user.as_str(), self.count()))
    }

    /// The shard of a job.
    pub(super) fn of_job(&self, job: &str) -> &Operations {
        self.numbered(JobId::from_text(job).shard(self.count()))
    }

    /// The shard of a bulk replay.
    ///
    /// # Errors
    /// When none that answers has it.
    pub(super) async fn of_replay(&self, id: &str) -> Result<Operations, Fault> {
        if let [only] = &*self.shards {
            return Ok(only.clone());
        }
        let find = |shard: Operations| async move { shard.db().in_time(shard.replay_operation(id)).await };
        let found = each(&self.shards, find).await?;
        match found.of.into_iter().find(|(_, replay)| replay.is_some()) {
            Some((shard, _)) => Ok(shard),
            None if found.away.is_empty() => Err(Fault::Missing(format!("There is no replay {id}."))),
            None => Err(Fault::Database),
        }
    }

    /// Those of [`shards_of`](Self::shards_of) that answer.
    ///
    /// # Errors
    /// When none answers.
    pub(super) async fn reached(&self, user: Option<&UserId>) -> Result<Reached, db::Error> {
        let clock = |shard: Operations| async move { shard.db().in_time(shard.db().now()).await };
        let found = each(self.shards_of(user), clock).await?;
        let now = found.of.first().map(|(_, now)| *now).unwrap_or_default();
        Ok(Reached { shards: found.of.into_iter().map(|(shard, _)| shard).collect(), now, away: found.away })
    }

    /// The shards of a list, or of a form at one: all, or the one of the user who is named.
    pub(super) fn shards_of(&self, user: Option<&UserId>) -> &[Operations] {
        match user {
            Some(user) => std::slice::from_ref(self.of_user(user)),
            None => &self.shards,
        }
    }

    fn count(&self) -> u16 {
        u16::try_from(self.shards.len()).unwrap_or(u16::MAX)
    }

    #[allow(clippy::indexing_slicing, reason = "a share is below the count")]
    fn numbered(&self, number: u16) -> &Operations {
        &self.shards[usize::from(number)]
    }
}

impl ShardError for db::Error {
    /// A pool knows what it has.
    async fn reach(_: &Operations) -> Result<(), Self> {
        Ok(())
    }

    /// A page shows the other shards, however one of them fails.
    fn is_away(&self) -> bool {
        true
    }

    fn note(&self, shard: Shard) {
        match self.is_passing() {
            true => tracing::debug!(%shard, error = %self, "a page of the console is without a shard"),
            false => tracing::warn!(%shard, error = %self, "a page of the console is without a shard"),
        }
    }
}

/// What an order came to in each shard.
pub(super) struct Given<T> {
    /// Those that said it.
    pub(super) of: Vec<(Operations, T)>,
    failed: Vec<(Operations, Undone)>,
}

impl<T> Given<T> {
    /// Of what each shard answered.
    ///
    /// # Errors
    /// When none did anything.
    pub(super) fn new(answers: Vec<(Operations, Result<T, db::Error>)>) -> Result<Self, Undone> {
        let (mut of, mut failed) = (Vec::new(), Vec::new());
        for (shard, answer) in answers {
            match answer {
                Ok(answer) => of.push((shard, answer)),
                Err(error) => failed.push((shard, Undone::from(error))),
            }
        }
        match (of.is_empty(), failed.pop()) {
            (true, Some((_, error))) => Err(error),
            (_, last) => Ok(Self { of, failed: failed.into_iter().chain(last).collect() }),
        }
    }

    /// Whether every shard said it.
    pub(super) fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// The page that says of each shard what was done there, in words and with an address; nothing of those of which there is
    /// nothing to say.
    pub(super) fn page(self, frame: Frame, say: impl Fn(T) -> Option<(String, String)>) -> Response {
        let number = |shard: &Operations| shard.db().shard().number;
        let done = self.of.into_iter().filter_map(|(shard, did)| {
            let (words, address) = say(did)?;
            Some((
                number(&shard),
                Part { shard: shard.db().shard().to_string(), words, address, is_done: true },
            ))
        });
        let failed = self.failed.into_iter().map(|(shard, error)| {
            let (words, address) = (error.sentence(), String::new());
            (number(&shard), Part { shard: shard.db().shard().to_string(), words, address, is_done: false })
        });
        let mut parts: Vec<(u16, Part)> = done.chain(failed).collect();
        parts.sort_by_key(|(number, _)| *number);
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        render(&Message { frame, text: String::new(), parts })
    }
}
