//! What a job's row remembers of its edges: a line per edge, written in the update that stores the edge.
//!
//! A line is `version at_micros verb from>to epoch generation worker code detail cause`, parted by single spaces, `-` for
//! what there is not; a cause is `code,stage,class,status,circuit`, and older lines have none. Renewals leave none: they say nothing that the lease does not. The newest 64 lines stay.

use job::{Cause, Command, ErrorClass, FailureCode, Job, State, Timestamp};

/// Lines that a row keeps; the oldest goes when one more comes.
pub(crate) const KEPT: i32 = 64;

/// One edge of a job, as its row remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The row's version after the edge.
    pub version: i64,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// What was said: `claim`, `release`, `complete`, `fail`, `park`, `require_keys`, `reconcile`, `replay`,
    /// `discard`, `run_now`, `cancel`, `withdraw`, or `prove_alive` (a crash is taken back).
    pub verb: String,
    /// The status before.
    pub from: String,
    /// The status after.
    pub to: String,
    /// The newest claim after the edge.
    pub epoch: i64,
    /// The newest dispatch after the edge.
    pub generation: i64,
    /// Who holds the lease after a claim, or held it before any other edge.
    pub worker: Option<String>,
    /// The failure that the edge recorded.
    pub code: Option<String>,
    /// Milliseconds per stage, of a completion; stages whose output was recalled are not among them.
    pub stages: Vec<(String, u32)>,
    /// When the job is ready again, where the edge queued it.
    pub ready_at: Option<Timestamp>,
    /// What lies behind a failure or a release.
    pub cause: Option<Cause>,
}

/// The verb under which a granted command is remembered; `None`: it is not.
pub(crate) fn verb(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Admit | Command::Renew { .. } => return None,
        Command::Claim { .. } => "claim",
        Command::ProveAlive { .. } => "prove_alive",
        Command::Release { .. } => "release",
        Command::Complete { .. } => "complete",
        Command::Fail { .. } => "fail",
        Command::Park { .. } => "park",
        Command::RequireKeys => "require_keys",
        Command::Reconcile { .. } => "reconcile",
        Command::Replay { .. } => "replay",
        Command::Discard => "discard",
        Command::RunNow => "run_now",
        Command::Cancel => "cancel",
        Command::Withdraw => "withdraw",
    })
}

/// What an edge is remembered by, beyond the two states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said<'a> {
    pub(crate) verb: Option<&'static str>,
    pub(crate) stages: &'a [(&'static str, u32)],
    pub(crate) cause: Option<&'a Cause>,
}

/// The line of an edge from `before` to `after`, stored at `at` as `version`; `None` where nothing happened that
/// an operator would look for (a reconciler that only looks again later).
pub(crate) fn line(before: &Job, after: &Job, version: i64, at: Timestamp, said: Said<'_>) -> Option<String> {
    let verb = said.verb?;
    let (from, to) = (before.state.status(), after.state.status());
    if verb == "reconcile" && from == to && before.generation == after.generation {
        return None;
    }
    let worker = worker(after).or_else(|| worker(before)).map(|name| name.replace(char::is_whitespace, "_"));
    let code = recorded_code(before, after, verb).map_or("-", FailureCode::as_str);
    Some(format!(
        "{version} {} {verb} {from}>{to} {} {} {} {code} {} {}",
        at.timestamp_micros(),
        after.epoch,
        after.generation,
        worker.as_deref().unwrap_or("-"),
        detail(after, said.stages),
        said.cause.map_or("-".to_owned(), cause_line),
    ))
}

fn cause_line(cause: &Cause) -> String {
    let status = cause.http_status.map_or("-".to_owned(), |status| status.to_string());
    format!(
        "{},{},{},{status},{}",
        cause.code,
        cause.stage.as_deref().unwrap_or("-"),
        cause.class.map_or("-", ErrorClass::as_str),
        if cause.circuit_open { "open" } else { "-" },
    )
}

fn read_cause(text: &str) -> Option<Cause> {
    let parts: Vec<&str> = text.split(',').collect();
    let [code, stage, class, status, circuit] = parts.as_slice() else { return None };
    Some(Cause {
        code: FailureCode::from_name(code)?,
        stage: (*stage != "-").then(|| (*stage).to_owned()),
        class: ErrorClass::from_name(class),
        http_status: status.parse().ok(),
        circuit_open: *circuit == "open",
    })
}

fn worker(job: &Job) -> Option<&str> {
    match &job.state {
        State::Leased(lease) => Some(&lease.worker.0),
        _ => None,
    }
}

/// A failure, a parking and an edge into a dead letter carry their code; other edges carry none, though the job
/// still knows its last one.
fn recorded_code(before: &Job, after: &Job, verb: &str) -> Option<FailureCode> {
    match &after.state {
        State::DeadLetter { code } if !matches!(before.state, State::DeadLetter { .. }) => Some(*code),
        _ if matches!(verb, "fail" | "park") => after.last_code,
        _ => None,
    }
}

fn detail(after: &Job, stages: &[(&'static str, u32)]) -> String {
    if let State::Queued { ready_at } = after.state {
        return format!("ready={}", ready_at.timestamp_micros());
    }
    if stages.is_empty() {
        return "-".to_owned();
    }
    stages.iter().map(|(stage, millis)| format!("{stage}={millis}")).collect::<Vec<_>>().join(",")
}

/// What lies behind the last failure or release; `None` where something else happened since, besides a claim.
pub(crate) fn last_cause(lines: &[String]) -> Option<Cause> {
    let mut newest_first = lines.iter().rev().filter_map(|line| read_line(line));
    newest_first.find(|event| event.verb != "claim")?.cause
}

/// Reads the lines of a row; an unreadable one is left out, because no decision depends on history.
pub fn read(lines: &[String]) -> Vec<Event> {
    lines.iter().filter_map(|line| read_line(line)).collect()
}

fn read_line(line: &str) -> Option<Event> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [version, at, verb, edge, epoch, generation, worker, code, detail, cause @ ..] = parts.as_slice()
    else {
        return None;
    };
    let (from, to) = edge.split_once('>')?;
    let said = |text: &str| (text != "-").then(|| text.to_owned());
    let details = || detail.split(',').filter_map(|part| part.split_once('='));
    Some(Event {
        version: version.parse().ok()?,
        at: moment(at)?,
        verb: (*verb).to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        epoch: epoch.parse().ok()?,
        generation: generation.parse().ok()?,
        worker: said(worker),
        code: said(code),
        ready_at: details().find(|(name, _)| *name == "ready").and_then(|(_, at)| moment(at)),
        stages: details()
            .filter(|(name, _)| *name != "ready")
            .filter_map(|(name, millis)| Some((name.to_owned(), millis.parse().ok()?)))
            .collect(),
        cause: cause.first().and_then(|cause| read_cause(cause)),
    })
}

fn moment(micros: &str) -> Option<Timestamp> {
    Timestamp::from_timestamp_micros(micros.parse().ok()?)
}

#[cfg(test)]
#[path = "history/tests.rs"]
mod tests;
