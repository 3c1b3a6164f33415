//! `listen jobs dismiss`: marks dead letters that will not be replayed as done with.

use ledger::Operation;
use std::process::ExitCode;

use clap::Args;
use job::{Command, JobId, Policy};
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
        stdout::{plain, say},
        table::print_json,
    },
    exit::Exit,
};

/// One job, or all that a filter finds.
#[derive(Args, Debug)]
pub(super) struct Dismiss {
    /// Id of a job; without it, all dead letters that the filter finds.
    #[arg(conflicts_with_all = OF_MANY)]
    pub(super) id: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Select all dead letters; required without a filter.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// Dismisses one.
///
/// # Errors
/// When the database does not answer, there is no such job, or its state refuses.
pub(super) async fn one(
    operations: &Operations,
    dismiss: &Dismiss,
    typed: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let id = &super::whole(operations, typed).await?;
    if dismiss.consent.dry_run {
        foresee(operations, id, as_json).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let job = JobId::from_text(id.to_owned());
    match operations.operate(&job, Operation::Discard, &dismiss.cause.action(), None).await? {
        None => Err(no_job(id)),
        Some(Err(refusal)) => Err(Exit::Refused(super::refused(operations, id, refusal).await).into()),
        Some(Ok(job)) => {
            match as_json {
                true => {
                    print_json(&json!({ "job_id": id, "done": "dismissed", "status": job.state.status() }))
                }
                false => say!("dismissed {id}"),
            }?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What dismissing the job would come to: it is refused here as it would be there.
async fn foresee(operations: &Operations, id: &str, as_json: bool) -> anyhow::Result<()> {
    let page = super::page(operations, id).await?;
    if let Err(refusal) = job::decide(&page.view.job, Command::Discard, page.at, &Policy::default()) {
        return Err(Exit::Refused(super::refused(operations, id, refusal).await).into());
    }
    match as_json {
        true => print_json(&json!({ "job_id": id, "guard": page.why.guard() })),
        false => say!("would dismiss {id}: {}", plain(&page.why)),
    }
}

/// Dismisses all that the filter finds.
///
/// # Errors
/// When the database does not answer, or no filter was named.
pub(super) async fn many(
    shards: &[Operations],
    dismiss: &Dismiss,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if dismiss.which.is_empty() && !dismiss.all {
        return Err(Exit::Usage("name a job, a filter, or --all".to_owned()).into());
    }
    let look = async |shard: &Operations| {
        let dead = Some("dead_letter".to_owned());
        let filter = JobFilter { unsettled: true, ..dismiss.which.filter(shard, dead, 500).await? };
        let preview = shard.preview_replay(&filter).await?;
        Ok((filter, preview))
    };
    let looks = each(shards, look).await?;
    let found: i64 = looks.of.iter().map(|(_, (_, preview))| preview.jobs).sum();
    let users = looks.of.iter().map(|(_, (_, preview))| preview.users).sum();
    let question = format!(
        "Dismiss {} of {}?",
        several(found, "dead letter", "dead letters"),
        several(users, "person", "people"),
    );
    if found == 0 || !dismiss.consent.given(&question)? {
        match as_json {
            true => print_json(&json!({ "found": found, "dismissed": 0 })),
            false => say!("{found} dead letters found, none dismissed"),
        }?;
        return looks.complete().map(|()| ExitCode::SUCCESS);
    }
    let bar = progress::bar(found.unsigned_abs(), "dismissed");
    let (mut dismissed, mut refused, mut unanswered) = (0, 0, 0_u64);
    let mut failures = Failures::default();
    for (shard, (filter, preview)) in &looks.of {
        if preview.jobs == 0 {
            continue;
        }
        let found = preview.jobs.unsigned_abs();
        let (meant, mut counts) = ((filter.clone(), found), (0, 0));
        let mut tell = |done: (u64, u64)| {
            counts = done;
            bar.set_position(dismissed + done.0);
        };
        if let Err(error) = all_of(shard, dismiss, meant, &mut tell).await {
            // What was found behind it was not looked at.
            unanswered += found.saturating_sub(counts.0 + counts.1);
            failures.add(shard, error);
        }
        if looks.of.len() > 1 && !as_json {
            bar.suspend(|| say!("{}dismissed {}, refused {}", label(shard), counts.0, counts.1))?;
        }
        (dismissed, refused) = (dismissed + counts.0, refused + counts.1);
    }
    bar.finish_and_clear();
    match as_json {
        true => print_json(&json!({ "found": found, "dismissed": dismissed, "refused": refused,
            "unanswered": unanswered })),
        false if unanswered > 0 => {
            say!("dismissed {dismissed}, refused {refused}, without an answer {unanswered}")
        }
        false => say!("dismissed {dismissed}, refused {refused}"),
    }?;
    failures.end(NOT_EVERYWHERE)?;
    looks.complete()?;
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::exit::PARTLY) })
}

/// Page by page, a transaction per job, and one order in the audit: what was dismissed before an interruption stays so, and a second call
/// goes on where the first one ended. `tell` is called with how many were dismissed and refused.
async fn all_of(
    operations: &Operations,
    dismiss: &Dismiss,
    (mut filter, found): (JobFilter, u64),
    tell: &mut dyn FnMut((u64, u64)),
) -> anyhow::Result<()> {
    let (operations, words) = (operations, dismiss.which.words("all dead letters"));
    let (order, meant) = (OrderOfMany::Dismiss, (words.as_str(), found));
    let mut given = operations.begin_order(order_id(), order, meant, &dismiss.cause.action()).await?;
    loop {
        let page = operations.jobs_page(&filter).await?;
        for view in &page.jobs {
            operations.give_order(&mut given, &view.job.id).await?;
            tell(given.counts());
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    Ok(operations.end_order(&given).await?)
}
