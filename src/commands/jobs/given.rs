//! An order that is given to several jobs, one after the other, and what it came to.

use std::process::ExitCode;

use job::{Command, JobId};
use ledger::Answer;
use operations::{Operations, OrderCounts, OrderOfMany};

use crate::{
    commands::{
        consent::Cause,
        over_shards::{Failures, NOT_EVERYWHERE},
        progress,
        stderr::note,
        stdout::reply,
    },
    exit::{PARTLY, in_one_line},
    process::new_id,
};

/// So many jobs that were not changed are named.
const NAMED: usize = 100;

pub(super) const fn command(order: OrderOfMany) -> Command {
    match order {
        OrderOfMany::RunNow => Command::RunNow,
        OrderOfMany::Cancel => Command::Cancel,
        OrderOfMany::Dismiss => Command::Discard,
    }
}

/// The jobs that an order is for, in the words of its questions.
pub(super) const fn jobs_of(order: OrderOfMany) -> [&'static str; 2] {
    match order {
        OrderOfMany::RunNow => ["waiting job", "waiting jobs"],
        OrderOfMany::Cancel => ["live job", "live jobs"],
        OrderOfMany::Dismiss => ["dead letter", "dead letters"],
    }
}

/// What is done, and what is done when it was.
pub(super) const fn verbs(order: OrderOfMany) -> (&'static str, &'static str) {
    match order {
        OrderOfMany::RunNow => ("run now", "due now"),
        OrderOfMany::Cancel => ("cancel", "cancelled"),
        OrderOfMany::Dismiss => ("dismiss", "dismissed"),
    }
}

/// Asks for `jobs` in those words.
pub(super) fn question(order: OrderOfMany, jobs: &str) -> String {
    match order {
        OrderOfMany::RunNow => format!("Run {jobs} now?"),
        OrderOfMany::Cancel => format!("Cancel {jobs}?"),
        OrderOfMany::Dismiss => format!("Dismiss {jobs}?"),
    }
}

/// What an order for several jobs came to.
#[derive(Default)]
pub(super) struct Results<'a> {
    counts: OrderCounts,
    /// Those that refused or failed, and why.
    unchanged: Vec<(&'a str, String)>,
    /// Where it ended with an error: nothing was asked of the jobs behind it.
    failures: Failures,
}

impl<'a> Results<'a> {
    /// Adds what it came to in another shard.
    pub(super) fn add(&mut self, more: Self) {
        self.counts = self.counts.and(more.counts);
        self.unchanged.extend(more.unchanged);
        self.failures.extend(more.failures);
    }

    /// Counts one job.
    fn count(&mut self, id: &'a str, answer: Result<Answer, db::Error>) {
        self.counts.count(&answer);
        let why = match answer {
            Ok(Answer::Granted { .. }) => return,
            Ok(Answer::Refused(refusal)) => super::words(refusal).to_owned(),
            Ok(Answer::Missing) => "there is no such job".to_owned(),
            Err(error) => in_one_line(&error.into()),
        };
        self.unchanged.push((id, why));
    }

    /// How many of those that were `found` gave no answer.
    fn unanswered(&self, found: u64) -> u64 {
        found.saturating_sub(self.counts.sum())
    }

    pub(super) fn words(&self, order: OrderOfMany, found: u64) -> String {
        let OrderCounts { granted, refused, failed } = self.counts;
        let some = |what: &str, jobs: u64| if jobs > 0 { format!(", {what}: {jobs}") } else { String::new() };
        let (failed, unanswered) =
            (some("failed", failed), some("without an answer", self.unanswered(found)));
        format!("{}: {granted}, refused: {refused}{failed}{unanswered}", verbs(order).1)
    }
}

/// One order in the audit; a transaction per job: what was done before an interruption stays done.
pub(super) async fn by_filter<'a>(
    operations: &Operations,
    order: OrderOfMany,
    (words, ids): (&str, impl ExactSizeIterator<Item = &'a str>),
    cause: &Cause,
) -> Results<'a> {
    let meant = (words, ids.len() as u64);
    let begun = operations.begin_order(new_id(), order, meant, &cause.action()).await;
    let mut given = match begun {
        Ok(given) => given,
        Err(error) => {
            let mut results = Results::default();
            results.failures.add(operations, error.into());
            return results;
        }
    };
    let jobs = ids.map(|id| (operations, id));
    let give = async |operations: &Operations, id: &str| {
        operations.give_order(&mut given, &JobId::from_text(id)).await
    };
    let mut results = give_each(order, jobs, give).await;
    let ended = operations.end_order(&given).await;
    // Of two errors the first one says more.
    if results.failures.is_empty()
        && let Err(error) = ended
    {
        results.failures.add(operations, error.into());
    }
    results
}

/// A transaction per job, each with its own row in the audit.
pub(super) async fn each_named<'a>(
    order: OrderOfMany,
    jobs: &'a [(Operations, String)],
    cause: &Cause,
) -> Results<'a> {
    let (operation, action) = (order.operation(), cause.action());
    let jobs = jobs.iter().map(|(operations, id)| (operations, id.as_str()));
    let give = async |operations: &Operations, id: &str| {
        operations.operate(&JobId::from_text(id), operation, &action).await
    };
    give_each(order, jobs, give).await
}

/// Gives an order to one job after the other, and to no more of a shard once it ended with an error there.
async fn give_each<'o, 'a>(
    order: OrderOfMany,
    jobs: impl ExactSizeIterator<Item = (&'o Operations, &'a str)>,
    mut give: impl AsyncFnMut(&Operations, &str) -> Result<Answer, db::Error>,
) -> Results<'a> {
    let bar = progress::bar(jobs.len() as u64, verbs(order).1);
    let mut results = Results::default();
    for (operations, id) in jobs {
        if results.failures.are_of(operations) {
            continue;
        }
        match give(operations, id).await {
            Err(error) if !error.is_of_one_row() => results.failures.add(operations, error.into()),
            answer => results.count(id, answer),
        }
        bar.set_position(results.counts.granted);
    }
    bar.finish_and_clear();
    results
}

/// Tells what an order for several jobs came to.
///
/// # Errors
/// When it did not end in every shard.
pub(super) fn answer(
    order: OrderOfMany,
    found: u64,
    results: Results<'_>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let (_, done) = verbs(order);
    for (id, why) in results.unchanged.iter().take(NAMED) {
        note!("{id}: {why}");
    }
    let rest = results.unchanged.len();
    if rest > NAMED {
        note!("and {} more", rest - NAMED);
    }
    let OrderCounts { granted, refused, failed } = results.counts;
    reply!(as_json, { "found": found, field(done): granted, "refused": refused,
            "failed": failed, "unanswered": results.unanswered(found) }, "{}", results.words(order, found))?;
    results.failures.end(NOT_EVERYWHERE)?;
    Ok(if rest == 0 { ExitCode::SUCCESS } else { ExitCode::from(PARTLY) })
}

/// What was done, as the name of a field.
pub(super) fn field(done: &str) -> String {
    done.replace(' ', "_")
}
