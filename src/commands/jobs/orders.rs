//! `listen jobs run-now` and `listen jobs cancel`: what operators order of live jobs.

use std::{collections::HashSet, process::ExitCode};

use clap::Args;
use job::{Command, Job, JobId, Policy, Refusal};
use ledger::OperatorAction;
use operations::{JobFilter, Operations, OrderOfMany};
use serde_json::json;

use super::{
    filter::{OF_MANY, Which},
    no_job, order_id, several,
};
use crate::{
    commands::{
        consent::{Cause, Consent},
        over_shards::{Failures, NOT_EVERYWHERE, each, label},
        progress,
        stderr::note,
        stdout::{plain, say},
        table::print_json,
    },
    exit::Exit,
};

/// So many jobs that refused are named.
const NAMED: usize = 100;

/// So often live jobs are looked for at most: where new ones come all the time, the order is for those that were found.
const PASSES: usize = 10;

/// Jobs by name, or all waiting ones that a filter finds.
#[derive(Args, Debug)]
pub(super) struct RunNow {
    /// Ids of jobs; without any, all waiting jobs that the filter finds.
    #[arg(conflicts_with_all = OF_MANY)]
    pub(super) ids: Vec<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Select all waiting jobs; required without a filter.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// Jobs by name, or all live ones that a filter finds: there is no word for those of everybody.
#[derive(Args, Debug)]
pub(super) struct Cancel {
    /// Ids of jobs; without any, all live jobs that the filter finds.
    #[arg(conflicts_with_all = &OF_MANY[1..])]
    pub(super) ids: Vec<String>,
    #[command(flatten)]
    pub(super) which: Which,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// What is ordered, in the words of its answers.
#[derive(Clone, Copy)]
enum Order {
    RunNow,
    Cancel,
}

impl Order {
    fn command(self) -> Command {
        match self {
            Self::RunNow => Command::RunNow,
            Self::Cancel => Command::Cancel,
        }
    }

    const fn of_many(self) -> OrderOfMany {
        match self {
            Self::RunNow => OrderOfMany::RunNow,
            Self::Cancel => OrderOfMany::Cancel,
        }
    }

    /// The jobs that it is for, in the words of its questions.
    const fn of(self) -> [&'static str; 2] {
        match self {
            Self::RunNow => ["waiting job", "waiting jobs"],
            Self::Cancel => ["live job", "live jobs"],
        }
    }

    /// What is done, and what is done when it was.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::RunNow => ("run now", "due now"),
            Self::Cancel => ("cancel", "cancelled"),
        }
    }

    async fn give(
        self,
        operations: &Operations,
        id: &str,
        action: &OperatorAction,
    ) -> Result<Option<Result<Job, Refusal>>, db::Error> {
        operations.operate(&JobId::from_text(id), self.of_many().operation(), action, None).await
    }
}

/// Jobs with their shards.
type Named = [(Operations, String)];

/// Runs jobs now.
///
/// # Errors
/// When the database does not answer, there is no such job, or its state refuses.
pub(super) async fn run_now(jobs: &Named, order: &RunNow, as_json: bool) -> anyhow::Result<ExitCode> {
    named(jobs, Order::RunNow, (&order.cause, order.consent), as_json).await
}

/// Runs all waiting jobs now that the filter finds.
///
/// # Errors
/// When the database does not answer, or no filter was named.
pub(super) async fn run_many_now(
    shards: &[Operations],
    order: &RunNow,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let RunNow { which, all, cause, consent, .. } = order;
    if which.is_empty() && !all {
        return Err(Exit::Usage("name jobs, a filter, or --all".to_owned()).into());
    }
    of_filter(shards, Order::RunNow, (which, cause, *consent), as_json).await
}

/// Cancels all live jobs that the filter finds.
///
/// # Errors
/// When the database does not answer, or no filter was named.
pub(super) async fn cancel_many(
    shards: &[Operations],
    order: &Cancel,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let Cancel { which, cause, consent, .. } = order;
    if which.is_empty() {
        return Err(Exit::Usage("name jobs, or a filter such as --user".to_owned()).into());
    }
    of_filter(shards, Order::Cancel, (which, cause, *consent), as_json).await
}

/// Shows how many jobs are meant, asks, and orders it.
async fn of_filter(
    shards: &[Operations],
    order: Order,
    (which, cause, consent): (&Which, &Cause, Consent),
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let looks = each(shards, async |shard: &Operations| found(shard, order, which).await).await?;
    let count = looks.of.iter().map(|(_, ids)| ids.len() as i64).sum();
    let ([one, many], (_, done)) = (order.of(), order.words());
    let question = match order {
        Order::RunNow => format!("Run {} now?", several(count, one, many)),
        Order::Cancel => format!("Cancel {}?", several(count, one, many)),
    };
    if count == 0 || !consent.given(&question)? {
        let (was, were) = (format!("{one} was found"), format!("{many} were found"));
        match as_json {
            true => print_json(&json!({ "found": count, field(done): 0 })),
            false => say!("{}", several(count, &was, &were)),
        }?;
        return looks.complete().map(|()| ExitCode::SUCCESS);
    }
    let words = format!("{many}, {}", which.words("all"));
    let mut all = Results::default();
    for (shard, ids) in looks.of.iter().filter(|(_, ids)| !ids.is_empty()) {
        let results = by_filter(shard, order, (&words, ids), cause).await;
        if looks.of.len() > 1 && !as_json {
            say!("{}{}", label(shard), results.words(order, ids.len() as u64))?;
        }
        all.granted += results.granted;
        all.refused.extend(results.refused);
        all.failures.extend(results.failures);
    }
    let code = answer(order, count.unsigned_abs(), all, as_json)?;
    looks.complete()?;
    Ok(code)
}

/// The ids of the jobs that an order is for.
async fn found(shard: &Operations, order: Order, which: &Which) -> anyhow::Result<Vec<String>> {
    let filter = async |status: &str| which.filter(shard, Some(status.to_owned()), 500).await;
    match order {
        Order::RunNow => {
            let now = shard.db().now().await?;
            pages(shard, JobFilter { waits_at: Some(now), ..filter("queued").await? }).await
        }
        Order::Cancel => live(async |status: &str| pages(shard, filter(status).await?).await).await,
    }
}

/// The ids of live jobs, each status's newest first: what waits is cancelled before what runs, or the slots that are freed would be
/// taken by what is to be cancelled next. Statuses are read one after the other, so that a job that is claimed and released meanwhile
/// may be in none of them: they are read again until nothing more is found.
async fn live(read: impl AsyncFn(&str) -> anyhow::Result<Vec<String>>) -> anyhow::Result<Vec<String>> {
    let (mut ids, mut seen) = (Vec::new(), HashSet::new());
    for pass in 0..PASSES {
        let before = ids.len();
        for status in ["blocked_byok", "queued", "leased"] {
            let found = read(status).await?;
            ids.extend(found.into_iter().filter(|id| seen.insert(id.clone())));
        }
        if pass > 0 && ids.len() == before {
            break;
        }
    }
    Ok(ids)
}

/// What an order for several jobs came to.
#[derive(Default)]
struct Results<'a> {
    /// How many were changed.
    granted: u64,
    /// Those that were not, and why.
    refused: Vec<(&'a str, &'static str)>,
    /// Where it ended with an error: nothing was asked of the jobs behind it.
    failures: Failures,
}

impl Results<'_> {
    /// How many of those that were `found` gave no answer.
    fn unanswered(&self, found: u64) -> u64 {
        found.saturating_sub(self.granted + self.refused.len() as u64)
    }

    fn words(&self, order: Order, found: u64) -> String {
        let words = format!("{}: {}, refused: {}", order.words().1, self.granted, self.refused.len());
        match self.unanswered(found) {
            0 => words,
            unanswered => format!("{words}, without an answer: {unanswered}"),
        }
    }
}

/// One order in the audit; a transaction per job: what was done before an interruption stays done.
async fn by_filter<'a>(
    operations: &Operations,
    order: Order,
    (words, ids): (&str, &'a [String]),
    cause: &Cause,
) -> Results<'a> {
    let meant = (words, ids.len() as u64);
    let begun = operations.begin_order(order_id(), order.of_many(), meant, &cause.action()).await;
    let mut given = match begun {
        Ok(given) => given,
        Err(error) => {
            let mut results = Results::default();
            results.failures.add(operations, error.into());
            return results;
        }
    };
    let jobs = ids.iter().map(|id| (operations, id.as_str()));
    let give = async |operations: &Operations, id: &str| {
        operations.give_order(&mut given, &JobId::from_text(id)).await
    };
    let mut results = give_each(order, jobs, give).await;
    if results.failures.is_empty()
        && let Err(error) = operations.end_order(&given).await
    {
        results.failures.add(operations, error.into());
    }
    results
}

/// Gives an order to one job after the other, and to no more of a shard once one of its jobs ended with an error.
async fn give_each<'o, 'a>(
    order: Order,
    jobs: impl ExactSizeIterator<Item = (&'o Operations, &'a str)>,
    mut give: impl AsyncFnMut(&Operations, &str) -> Result<Option<Result<Job, Refusal>>, db::Error>,
) -> Results<'a> {
    let bar = progress::bar(jobs.len() as u64, order.words().1);
    let mut results = Results::default();
    for (operations, id) in jobs {
        if results.failures.are_of(operations) {
            continue;
        }
        match give(operations, id).await {
            Ok(Some(Ok(_))) => results.granted += 1,
            Ok(Some(Err(refusal))) => results.refused.push((id, super::words(refusal))),
            Ok(None) => results.refused.push((id, "there is no such job")),
            Err(error) => results.failures.add(operations, error.into()),
        }
        bar.set_position(results.granted);
    }
    bar.finish_and_clear();
    results
}

/// Cancels jobs.
///
/// # Errors
/// When the database does not answer, there is no such job, or its state refuses.
pub(super) async fn cancel(jobs: &Named, order: &Cancel, as_json: bool) -> anyhow::Result<ExitCode> {
    named(jobs, Order::Cancel, (&order.cause, order.consent), as_json).await
}

/// The ids of all jobs that a filter finds, as they are listed.
async fn pages(operations: &Operations, mut filter: JobFilter) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    loop {
        let page = operations.jobs_page(&filter).await?;
        found.extend(page.jobs.iter().map(|view| view.job.id.to_string()));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(found),
        }
    }
}

async fn named(
    jobs: &Named,
    order: Order,
    (cause, consent): (&Cause, Consent),
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if consent.dry_run {
        for (operations, id) in jobs {
            foresee(operations, order, id, as_json).await?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // To end a wait harms nothing; to end a job is asked for.
    let question = format!("Cancel {}?", several(jobs.len() as i64, "job", "jobs"));
    if matches!(order, Order::Cancel) && !consent.given(&question)? {
        return Ok(ExitCode::SUCCESS);
    }
    let [(operations, id)] = jobs else { return many(jobs, order, cause, as_json).await };
    match order.give(operations, id, &cause.action()).await? {
        None => Err(no_job(id)),
        Some(Err(refusal)) => Err(Exit::Refused(super::refused(operations, id, refusal).await).into()),
        Some(Ok(job)) => {
            let (_, done) = order.words();
            match as_json {
                true => print_json(&json!({ "job_id": id, "done": done, "status": job.state.status(),
                    "dispatch_generation": job.generation.0 })),
                false => say!("{done}: {id}"),
            }?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What the order would come to: it is refused here as it would be there.
async fn foresee(operations: &Operations, order: Order, id: &str, as_json: bool) -> anyhow::Result<()> {
    let page = super::page(operations, id).await?;
    if let Err(refusal) = job::decide(&page.view.job, order.command(), page.at, &Policy::default()) {
        return Err(Exit::Refused(super::refused(operations, id, refusal).await).into());
    }
    match as_json {
        true => print_json(&json!({ "job_id": id, "guard": page.why.guard() })),
        false => say!("would {} {id}: {}", order.words().0, plain(&page.why)),
    }
}

/// A transaction per job: what was done before an interruption stays done.
async fn many(jobs: &Named, order: Order, cause: &Cause, as_json: bool) -> anyhow::Result<ExitCode> {
    let action = cause.action();
    let named = jobs.iter().map(|(operations, id)| (operations, id.as_str()));
    let give = async |operations: &Operations, id: &str| order.give(operations, id, &action).await;
    answer(order, jobs.len() as u64, give_each(order, named, give).await, as_json)
}

/// Tells what an order for several jobs came to.
///
/// # Errors
/// When it did not end in every shard.
fn answer(order: Order, found: u64, results: Results<'_>, as_json: bool) -> anyhow::Result<ExitCode> {
    let (_, done) = order.words();
    for (id, words) in results.refused.iter().take(NAMED) {
        note!("{id}: {words}");
    }
    let rest = results.refused.len();
    if rest > NAMED {
        note!("and {} more", rest - NAMED);
    }
    match as_json {
        true => print_json(&json!({ "found": found, field(done): results.granted, "refused": rest,
            "unanswered": results.unanswered(found) })),
        false => say!("{}", results.words(order, found)),
    }?;
    results.failures.end(NOT_EVERYWHERE)?;
    Ok(if rest == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::exit::PARTLY) })
}

/// What was done, as the name of a field.
fn field(done: &str) -> String {
    done.replace(' ', "_")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn cancel_finds_a_job_that_changes_its_status_while_statuses_are_read() {
        // It runs while the queue is read, and waits in the queue again while runs are read.
        let reads = Cell::new(0);
        let read = async |status: &str| {
            reads.set(reads.get() + 1);
            let status_now = if reads.get() == 2 { "leased" } else { "queued" };
            Ok(if status == status_now { vec!["fj_1".to_owned()] } else { Vec::new() })
        };
        assert_eq!(live(read).await.unwrap(), ["fj_1"]);
    }

    #[tokio::test]
    async fn cancel_stops_to_look_where_new_jobs_come_all_the_time() {
        let reads = Cell::new(0);
        let read = async |status: &str| {
            reads.set(reads.get() + 1);
            Ok(if status == "queued" { vec![reads.get().to_string()] } else { Vec::new() })
        };
        assert_eq!(live(read).await.unwrap().len(), PASSES);
    }
}
