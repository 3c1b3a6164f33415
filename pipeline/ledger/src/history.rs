//! What a job's row remembers of its transitions: an entry for each, written in the update that stores the transition.
//!
//! The column `history` is a `jsonb` array of [`Event`]s, oldest first, and null before the first one. Every job has some and
//! keeps them for as long as its row, so the names are short, and what is as usual is left out:
//!
//! - always: `v` (the row's version), `at` (microseconds since 1970), `verb`, `from`, `to` and `epoch`;
//! - `gen` where the generation is not 1; `by`, the worker; `code`, the failure; `ready_at` (microseconds);
//! - `stages` of a completion: each stage and its milliseconds in turn, `["describe", 61, "embed", 7]`;
//! - `cause` of a failure or a release: `code`, `stage`, `class`, `http_status`, `circuit_open`.
//!
//! A renewal leaves no entry: it says nothing that the lease does not.

use chrono::serde::{ts_microseconds, ts_microseconds_option};
use job::{Cause, Command, ErrorClass, FailureCode, Job, State, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::types::Json;

/// Entries that a row keeps; the oldest goes when one more comes.
pub(crate) const KEPT: i32 = 64;

job::named! {
    /// What was asked of a job.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Verb {
        /// A worker took it.
        Claim = "claim",
        /// A crash was taken back: the process was only late.
        ProveAlive = "prove_alive",
        /// Given back unharmed.
        Release = "release",
        Complete = "complete",
        Fail = "fail",
        /// The user's key was refused.
        Park = "park",
        /// From now on only with the user's key.
        RequireKeys = "require_keys",
        Reconcile = "reconcile",
        /// An operator replayed a dead letter.
        Replay = "replay",
        /// An operator settled a dead letter.
        Discard = "discard",
        /// The next revision of its conversation was admitted.
        Supersede = "supersede",
        /// An operator ended its wait.
        RunNow = "run_now",
        Cancel = "cancel",
        /// Its conversation was deleted.
        Withdraw = "withdraw",
    }
}

/// One transition of a job, as its row remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The row's version after the transition.
    #[serde(rename = "v")]
    pub version: i64,
    /// When, by the database's clock.
    #[serde(with = "ts_microseconds")]
    pub at: Timestamp,
    pub verb: Verb,
    pub from: String,
    pub to: String,
    /// The newest claim after the transition.
    pub epoch: i64,
    /// The newest generation after the transition.
    #[serde(rename = "gen", default = "first", skip_serializing_if = "is_first")]
    pub generation: i64,
    /// The worker of the lease that a claim began, or that any other transition found.
    #[serde(rename = "by", default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The failure that the transition recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Milliseconds per stage, of a completion; stages whose output was recalled are not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "stages")]
    pub stages: Vec<(String, u32)>,
    /// When the job is ready again, where the transition queued it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "ts_microseconds_option")]
    pub ready_at: Option<Timestamp>,
    /// What lies behind a failure or a release.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "cause")]
    pub cause: Option<Cause>,
}

const fn first() -> i64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_first(generation: &i64) -> bool {
    *generation == first()
}

/// The verb under which a granted command is remembered; `None`: it is not.
pub(crate) fn verb(command: &Command) -> Option<Verb> {
    Some(match command {
        Command::Renew { .. } => return None,
        Command::Claim { .. } => Verb::Claim,
        Command::ProveAlive { .. } => Verb::ProveAlive,
        Command::Release { .. } => Verb::Release,
        Command::Complete { .. } => Verb::Complete,
        Command::Fail { .. } => Verb::Fail,
        Command::Park { .. } => Verb::Park,
        Command::RequireKeys => Verb::RequireKeys,
        Command::Reconcile { .. } => Verb::Reconcile,
        Command::Replay { .. } => Verb::Replay,
        Command::Discard => Verb::Discard,
        Command::Supersede => Verb::Supersede,
        Command::RunNow => Verb::RunNow,
        Command::Cancel => Verb::Cancel,
        Command::Withdraw => Verb::Withdraw,
    })
}

/// What a transition is remembered by, beyond the two states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detail<'a> {
    pub(crate) verb: Option<Verb>,
    pub(crate) stages: &'a [(&'static str, u32)],
    pub(crate) cause: Option<&'a Cause>,
}

/// The entry of a transition from `before` to `after`, stored at `at` as `version`; `None` where nothing happened that
/// an operator would look for (a reconciler that only looks again later).
pub(crate) fn event(
    before: &Job,
    after: &Job,
    version: i64,
    at: Timestamp,
    detail: Detail<'_>,
) -> Option<Event> {
    let verb = detail.verb?;
    let (from, to) = (before.state.status(), after.state.status());
    if verb == Verb::Reconcile && from == to && before.generation == after.generation {
        return None;
    }
    Some(Event {
        version,
        at,
        verb,
        from: from.to_owned(),
        to: to.to_owned(),
        epoch: after.epoch.0,
        generation: after.generation.0,
        worker: worker(after).or_else(|| worker(before)).map(str::to_owned),
        code: recorded_code(before, after, verb).map(|code| code.as_str().to_owned()),
        stages: detail.stages.iter().map(|(stage, millis)| ((*stage).to_owned(), *millis)).collect(),
        ready_at: after.state.ready_at(),
        cause: detail.cause.cloned(),
    })
}

fn worker(job: &Job) -> Option<&str> {
    job.state.lease().map(|lease| lease.worker.0.as_str())
}

/// A failure, a parking and a transition into a dead letter carry their code; others carry none, though the job
/// still knows its last one.
fn recorded_code(before: &Job, after: &Job, verb: Verb) -> Option<FailureCode> {
    match &after.state {
        State::DeadLetter { code } if !matches!(before.state, State::DeadLetter { .. }) => Some(*code),
        _ if matches!(verb, Verb::Fail | Verb::Park) => after.last_code,
        _ => None,
    }
}

/// The column as it is read: entries of any version of the program.
#[derive(Clone, Debug, Default, sqlx::Type)]
#[sqlx(transparent)]
pub struct History(Option<Json<Vec<Value>>>);

impl History {
    /// The events, oldest first. One that this version cannot read is left out, because no decision depends on history.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = Event> + '_ {
        let entries = self.0.as_ref().map_or(&[][..], |Json(entries)| entries);
        entries.iter().filter_map(|entry| Event::deserialize(entry).ok())
    }

    /// What lies behind the last failure or release; `None` where something else happened since, besides a claim.
    pub(crate) fn last_cause(&self) -> Option<Cause> {
        self.events().rev().find(|event| event.verb != Verb::Claim)?.cause
    }
}

/// Stages and their milliseconds in turn: half as long as a list of pairs.
mod stages {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Part {
        Stage(String),
        Millis(u32),
    }

    pub(super) fn serialize<S: Serializer>(stages: &[(String, u32)], to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;

        let mut list = to.serialize_seq(Some(stages.len() * 2))?;
        for (stage, millis) in stages {
            list.serialize_element(stage)?;
            list.serialize_element(millis)?;
        }
        list.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, u32)>, D::Error> {
        let mut parts = Vec::<Part>::deserialize(from)?.into_iter();
        let mut stages = Vec::with_capacity(parts.len() / 2);
        while let Some(part) = parts.next() {
            let (Part::Stage(stage), Some(Part::Millis(millis))) = (part, parts.next()) else {
                return Err(D::Error::custom("stages and milliseconds do not take turns"));
            };
            stages.push((stage, millis));
        }
        Ok(stages)
    }
}

/// A cause as a part of an entry.
mod cause {
    use serde::{Deserializer, Serializer};

    use super::{Cause, Deserialize, ErrorClass, FailureCode, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Entry {
        code: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status: Option<u16>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        circuit_open: bool,
    }

    pub(super) fn serialize<S: Serializer>(cause: &Option<Cause>, to: S) -> Result<S::Ok, S::Error> {
        let entry = cause.as_ref().map(|cause| Entry {
            code: cause.code.as_str().to_owned(),
            stage: cause.stage.clone(),
            class: cause.class.map(|class| class.as_str().to_owned()),
            http_status: cause.http_status,
            circuit_open: cause.circuit_open,
        });
        entry.serialize(to)
    }

    /// A code that this version does not know makes it no cause.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cause>, D::Error> {
        let entry = Option::<Entry>::deserialize(from)?;
        Ok(entry.and_then(|entry| {
            Some(Cause {
                code: FailureCode::from_name(&entry.code)?,
                stage: entry.stage,
                class: entry.class.as_deref().and_then(ErrorClass::from_name),
                http_status: entry.http_status,
                circuit_open: entry.circuit_open,
            })
        }))
    }
}

#[cfg(test)]
#[path = "history/tests.rs"]
mod tests;
