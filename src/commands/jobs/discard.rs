//! `listen jobs discard`: marks dead letters that will not be replayed as settled.

use std::process::ExitCode;

use clap::Args;
use job::{Command, JobId, Policy};
use ledger::Ledger;
use operations::{JobFilter, Operations};
use serde_json::json;

use super::{
    filter::{OF_MANY, Which},
    no_job, several,
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
pub(super) struct Discard {
    /// Id of a job; without it, all dead letters that the filter finds.
    #[arg(conflicts_with_all = OF_MANY)]
    id: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Select all dead letters; required without a filter.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// Settles.
pub(super) async fn run(ledger: &Ledger, discard: &Discard, as_json: bool) -> anyhow::Result<ExitCode> {
    match &discard.id {
        Some(id) => one(ledger, discard, id, as_json).await,
        None if discard.which.is_empty() && !discard.all => {
            Err(Exit::Usage("name a job, a filter, or --all".to_owned()).into())
        }
        None => many(ledger, discard, as_json).await,
    }
}

async fn one(ledger: &Ledger, discard: &Discard, id: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    if discard.consent.dry_run {
        foresee(ledger, id, as_json).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let job = JobId::from_text(id.to_owned());
    match ledger.discard(&job, &discard.cause.action()).await? {
        None => Err(no_job(id)),
        Some(Err(refusal)) => Err(Exit::Refused(super::refused(ledger, id, refusal).await).into()),
        Some(Ok(job)) => {
            match as_json {
                true => print_json(&json!({ "job_id": id, "done": "settled", "status": job.state.status() })),
                false => say!("settled {id}"),
            }?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What settling the job would come to: it is refused here as it would be there.
async fn foresee(ledger: &Ledger, id: &str, as_json: bool) -> anyhow::Result<()> {
    let page = super::page(ledger, id).await?;
    if let Err(refusal) = job::decide(&page.view.job, Command::Discard, page.at, &Policy::default()) {
        return Err(Exit::Refused(super::refused(ledger, id, refusal).await).into());
    }
    match as_json {
        true => print_json(&json!({ "job_id": id, "guard": page.why.guard() })),
        false => say!("would settle {id}: {}", plain(&page.why)),
    }
}

/// Page by page, a transaction per job: what was settled before an interruption stays settled, and a second call
/// goes on where the first one ended.
async fn many(ledger: &Ledger, discard: &Discard, as_json: bool) -> anyhow::Result<ExitCode> {
    let dead = Some("dead_letter".to_owned());
    let mut filter = JobFilter { unsettled: true, ..discard.which.filter(ledger, dead, 500).await? };
    let preview = Operations::new(ledger).preview_replay(&filter).await?;
    let found = preview.jobs;
    let question = format!(
        "Settle {} of {}?",
        several(found, "dead letter", "dead letters"),
        several(preview.users, "person", "people"),
    );
    if found == 0 || !discard.consent.given(&question)? {
        match as_json {
            true => print_json(&json!({ "found": found, "settled": 0 })),
            false => say!("{found} dead letters found, none settled"),
        }?;
        return Ok(ExitCode::SUCCESS);
    }
    let bar = progress::bar(found.unsigned_abs(), "settled");
    let (mut settled, mut refused) = (0_u64, 0_u64);
    loop {
        let page = Operations::new(ledger).jobs_page(&filter).await?;
        for view in &page.jobs {
            match ledger.discard(&view.job.id, &discard.cause.action()).await? {
                Some(Ok(_)) => settled += 1,
                Some(Err(_)) | None => refused += 1,
            }
            bar.set_position(settled);
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    bar.finish_and_clear();
    match as_json {
        true => print_json(&json!({ "found": found, "settled": settled, "refused": refused })),
        false => say!("settled {settled}, refused {refused}"),
    }?;
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::exit::PARTLY) })
}
