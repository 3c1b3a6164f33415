//! `listen jobs dismiss`: marks dead letters that will not be replayed as done with.

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

/// Dismisses.
pub(super) async fn run(
    operations: &Operations,
    dismiss: &Dismiss,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    match &dismiss.id {
        Some(id) => one(operations, dismiss, &super::whole(operations, id).await?, as_json).await,
        None if dismiss.which.is_empty() && !dismiss.all => {
            Err(Exit::Usage("name a job, a filter, or --all".to_owned()).into())
        }
        None => many(operations, dismiss, as_json).await,
    }
}

async fn one(
    operations: &Operations,
    dismiss: &Dismiss,
    id: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if dismiss.consent.dry_run {
        foresee(operations, id, as_json).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let job = JobId::from_text(id.to_owned());
    match operations.discard(&job, &dismiss.cause.action()).await? {
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

/// Page by page, a transaction per job, and one order in the audit: what was dismissed before an interruption stays so, and a second call
/// goes on where the first one ended.
async fn many(operations: &Operations, dismiss: &Dismiss, as_json: bool) -> anyhow::Result<ExitCode> {
    let dead = Some("dead_letter".to_owned());
    let mut filter = JobFilter { unsettled: true, ..dismiss.which.filter(operations, dead, 500).await? };
    let preview = operations.preview_replay(&filter).await?;
    let found = preview.jobs;
    let question = format!(
        "Dismiss {} of {}?",
        several(found, "dead letter", "dead letters"),
        several(preview.users, "person", "people"),
    );
    if found == 0 || !dismiss.consent.given(&question)? {
        match as_json {
            true => print_json(&json!({ "found": found, "dismissed": 0 })),
            false => say!("{found} dead letters found, none dismissed"),
        }?;
        return Ok(ExitCode::SUCCESS);
    }
    let bar = progress::bar(found.unsigned_abs(), "dismissed");
    let words = dismiss.which.words("all dead letters");
    let (order, meant) = (OrderOfMany::Dismiss, (words.as_str(), found.unsigned_abs()));
    let mut given = operations.begin_order(order_id(), order, meant, &dismiss.cause.action()).await?;
    loop {
        let page = operations.jobs_page(&filter).await?;
        for view in &page.jobs {
            operations.give_order(&mut given, &view.job.id).await?;
            bar.set_position(given.counts().0);
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    bar.finish_and_clear();
    operations.end_order(&given).await?;
    let (dismissed, refused) = given.counts();
    match as_json {
        true => print_json(&json!({ "found": found, "dismissed": dismissed, "refused": refused })),
        false => say!("dismissed {dismissed}, refused {refused}"),
    }?;
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::exit::PARTLY) })
}
