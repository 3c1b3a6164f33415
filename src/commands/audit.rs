//! `listen audit`: who did what, and why.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ledger::{ActionFilter, ActionView};
use serde_json::Value;

use super::{
    jobs::{filter::ago, show::action_json},
    table::{self, Asked, print_json},
};
use crate::exit::Exit;

/// Who did what to jobs, queues, replays and webhooks, and why.
#[derive(Args, Debug)]
pub(crate) struct Audit {
    #[command(flatten)]
    asked: Asked,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List actions, newest first.
    List {
        /// Name of the operator.
        #[arg(long, value_name = "NAME")]
        operator: Option<String>,
        /// replay, discard, run_now, cancel, pause, resume, recount, bulk_replay, pause_bulk, resume_bulk, cancel_bulk,
        /// enable_webhook, recover_webhook, redeliver_webhook, try_webhook_now or delete_user.
        #[arg(long)]
        action: Option<String>,
        /// Id of the job.
        #[arg(long, value_name = "ID")]
        job: Option<String>,
        /// Maximum number of rows.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
    },
}

/// Runs one verb.
///
/// # Errors
/// When the database does not answer, or there is no such job.
pub(crate) async fn run(audit: Audit) -> anyhow::Result<ExitCode> {
    let ledger = audit.asked.ledger()?;
    let Verb::List { operator, action, job, limit } = audit.verb;
    let job = match job {
        None => None,
        Some(id) => {
            let view = ledger.job(&job::JobId::from_text(id.clone())).await?;
            let view = view.ok_or_else(|| Exit::NotFound(format!("there is no job {id}")))?;
            Some((view.user_id, view.job.id))
        }
    };
    let actions =
        ledger.actions(&ActionFilter { operator, action, job, limit, ..ActionFilter::default() }).await?;
    if audit.asked.json {
        print_json(&actions.iter().map(action_json).collect::<Value>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if actions.is_empty() {
        anstream::eprintln!("no such actions");
        return Ok(ExitCode::SUCCESS);
    }
    let now = ledger.now().await?;
    let rows = actions.iter().map(|action| {
        vec![
            ago(action.created_at, now),
            action.operator.clone(),
            action.action.clone(),
            on(action),
            from(action),
            action.reason.clone(),
        ]
    });
    table::print(&["age", "operator", "action", "on", "from", "reason"], rows.collect())?;
    Ok(ExitCode::SUCCESS)
}

fn on(action: &ActionView) -> String {
    action.job_id.clone().or_else(|| action.subject.clone()).unwrap_or_default()
}

fn from(action: &ActionView) -> String {
    let from = action.from_code.clone().or_else(|| action.from_status.clone());
    from.or_else(|| action.detail.clone()).unwrap_or_default()
}
