//! Several shards: which of them a page is of, what lists say of those that do not answer, and what a form did in each.

use axum::response::Response;
use db::Shard;
use job::{JobId, Timestamp};
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
    ///
    /// # Errors
    /// When none that answers has it.
    pub(super) async fn of_replay(&self, id: &str) -> Result<Operations, Fault> {
        if self.shards.count() == 1 {
            return Ok(Operations::new(self.shards.first()));
        }
        let find = |shard: Operations| async move { shard.db().in_time(shard.replay_operation(id)).await };
        let found = each(&self.all(), find).await?;
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

/// What an order came to in each shard, in the order of their numbers.
pub(super) struct Given<T>(Vec<(Operations, Result<T, Undone>)>);

impl<T> Given<T> {
    /// From what each shard answered.
    ///
    /// # Errors
    /// When every shard failed.
    pub(super) fn new(answers: Vec<(Operations, Result<T, db::Error>)>) -> Result<Self, Undone> {
        let have_all_failed = answers.iter().all(|(_, answer)| answer.is_err());
        let answers = answers.into_iter().map(|(shard, answer)| (shard, answer.map_err(Undone::from)));
        let mut answers: Vec<(Operations, Result<T, Undone>)> = answers.collect();
        if have_all_failed && let Some((_, Err(error))) = answers.pop() {
            return Err(error);
        }
        Ok(Self(answers))
    }

    /// What was done where nothing failed.
    pub(super) fn done(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|(_, answer)| answer.as_ref().ok())
    }

    /// Whether no shard failed.
    pub(super) fn is_complete(&self) -> bool {
        self.0.iter().all(|(_, answer)| answer.is_ok())
    }

    /// The page that says what was done in each shard, by the words and the address that `say` returns; a shard for which it returns
    /// nothing is left out.
    pub(super) fn page(self, frame: Frame, say: impl Fn(T) -> Option<(String, String)>) -> Response {
        let title = match self.is_complete() {
            true => frame.title.clone(),
            false => format!("{}, but not in every shard", frame.title),
        };
        let parts = self.0.into_iter().filter_map(|(shard, answer)| {
            let shard = shard.db().shard().to_string();
            match answer {
                Ok(did) => say(did).map(|(words, address)| Part { shard, words, address, fault: None }),
                Err(error) => {
                    let (heading, words) = error.words();
                    Some(Part { shard, words, address: String::new(), fault: Some(heading) })
                }
            }
        });
        let parts = parts.collect();
        render(&Message { frame: Frame { title, ..frame }, text: String::new(), parts })
    }
}
