//! `listen jobs run-now` and `listen jobs cancel`: what operators order of live jobs.

use std::process::ExitCode;

use clap::Args;
use job::{Command, Job, JobId, Policy, Refusal, State};
use ledger::{Ledger, OperatorAction};
use operations::{JobFilter, Operations, OrderOfMany};
use serde_json::json;

use super::{
    filter::{OF_MANY, Which},
    no_job, order_id, several,
};
use crate::{
    commands::{
        consent::{Cause, Consent},
        progress,
        stdout::{plain, say},
        table::print_json,
    },
    exit::Exit,
};

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

/// Jobs by name: none is cancelled by a filter.
#[derive(Args, Debug)]
pub(super) struct Cancel {
    /// Ids of jobs.
    #[arg(required = true)]
    pub(super) ids: Vec<String>,
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

    /// What is done, and what is done when it was.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::RunNow => ("run now", "due now"),
            Self::Cancel => ("cancel", "cancelled"),
        }
    }

    async fn give(
        self,
        ledger: &Ledger,
        id: &str,
        action: &OperatorAction,
    ) -> Result<Option<Result<Job, Refusal>>, db::Error> {
        let job = JobId::from_text(id.to_owned());
        match self {
            Self::RunNow => ledger.run_now(&job, action).await,
            Self::Cancel => ledger.cancel(&job, action).await,
        }
    }
}

/// Runs jobs now.
pub(super) async fn run_now(
    operations: &Operations,
    order: &RunNow,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let RunNow { ids, which, all, cause, consent } = order;
    if !ids.is_empty() {
        return named(operations, Order::RunNow, &whole(operations, ids).await?, (cause, *consent), as_json)
            .await;
    }
    if which.is_empty() && !all {
        return Err(Exit::Usage("name jobs, a filter, or --all".to_owned()).into());
    }
    let filter = which.filter(operations, Some("queued".to_owned()), 500).await?;
    let found = waiting(operations, filter).await?;
    let question = format!("Run {} now?", several(found.len() as i64, "waiting job", "waiting jobs"));
    if found.is_empty() || !consent.given(&question)? {
        match as_json {
            true => print_json(&json!({ "found": found.len(), "due": 0 })),
            false => {
                say!("{}", several(found.len() as i64, "waiting job was found", "waiting jobs were found"))
            }
        }?;
        return Ok(ExitCode::SUCCESS);
    }
    let words = format!("waiting jobs, {}", which.words("all"));
    by_filter(operations, (&words, &found), cause, as_json).await
}

/// One order in the audit; a transaction per job: what was done before an interruption stays done.
async fn by_filter(
    operations: &Operations,
    (words, ids): (&str, &[String]),
    cause: &Cause,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let meant = (words, ids.len() as u64);
    let mut given = operations.begin_order(order_id(), OrderOfMany::RunNow, meant, &cause.action()).await?;
    let (bar, mut refused) = (progress::bar(ids.len() as u64, "due now"), Vec::new());
    for id in ids {
        match operations.give_order(&mut given, &JobId::from_text(id.clone())).await? {
            Some(Ok(_)) => bar.set_position(given.counts().0),
            Some(Err(refusal)) => refused.push((id, super::words(refusal))),
            None => refused.push((id, "there is no such job")),
        }
    }
    bar.finish_and_clear();
    operations.end_order(&given).await?;
    answer(Order::RunNow, ids.len(), given.counts().0, &refused, as_json)
}

/// Cancels jobs.
pub(super) async fn cancel(
    operations: &Operations,
    order: &Cancel,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    named(
        operations,
        Order::Cancel,
        &whole(operations, &order.ids).await?,
        (&order.cause, order.consent),
        as_json,
    )
    .await
}

/// The ids that were meant: each may be typed by its end.
async fn whole(operations: &Operations, ids: &[String]) -> anyhow::Result<Vec<String>> {
    let mut all = Vec::new();
    for id in ids {
        all.push(super::whole(operations, id).await?);
    }
    Ok(all)
}

/// The ids of queued jobs whose time has not come: oldest last, as they are listed.
async fn waiting(operations: &Operations, mut filter: JobFilter) -> anyhow::Result<Vec<String>> {
    let (now, mut found) = (operations.db().now().await?, Vec::new());
    loop {
        let page = operations.jobs_page(&filter).await?;
        let waits = |job: &Job| matches!(job.state, State::Queued { ready_at } if ready_at > now);
        found.extend(page.jobs.iter().filter(|view| waits(&view.job)).map(|view| view.job.id.to_string()));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(found),
        }
    }
}

async fn named(
    operations: &Operations,
    order: Order,
    ids: &[String],
    (cause, consent): (&Cause, Consent),
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if consent.dry_run {
        for id in ids {
            foresee(operations, order, id, as_json).await?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // To end a wait harms nothing; to end a job is asked for.
    let question = format!("Cancel {}?", several(ids.len() as i64, "job", "jobs"));
    if matches!(order, Order::Cancel) && !consent.given(&question)? {
        return Ok(ExitCode::SUCCESS);
    }
    let [id] = ids else { return many(operations, order, ids, cause, as_json).await };
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
async fn many(
    ledger: &Ledger,
    order: Order,
    ids: &[String],
    cause: &Cause,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let (action, (_, done)) = (cause.action(), order.words());
    let bar = progress::bar(ids.len() as u64, done);
    let (mut granted, mut refused) = (0_u64, Vec::new());
    for id in ids {
        match order.give(ledger, id, &action).await? {
            Some(Ok(_)) => granted += 1,
            Some(Err(refusal)) => refused.push((id, super::words(refusal))),
            None => refused.push((id, "there is no such job")),
        }
        bar.set_position(granted);
    }
    bar.finish_and_clear();
    answer(order, ids.len(), granted, &refused, as_json)
}

/// What came of an order for several jobs.
fn answer(
    order: Order,
    found: usize,
    granted: u64,
    refused: &[(&String, &str)],
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let (_, done) = order.words();
    for (id, words) in refused {
        anstream::eprintln!("{id}: {words}");
    }
    let rest = refused.len();
    match as_json {
        true => print_json(&json!({ "found": found, done.replace(' ', "_"): granted, "refused": rest })),
        false => say!("{done}: {granted}, refused: {rest}"),
    }?;
    Ok(if rest == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::exit::PARTLY) })
}
