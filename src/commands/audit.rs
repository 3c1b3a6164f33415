//! `listen audit`: who did what, and why.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use operations::{ACTIONS, ActionFilter, ActionView, IdKind, action_name, actions_named};
use records::Timestamp;

use super::{
    ids,
    jobs::show::action_json,
    paging::{Paging, cursor},
    table::{Column, CommonArgs, List, id, text, word},
    times::ago,
};
use crate::{exit::Exit, lists};

/// Who did what to jobs, queues, replays and webhooks, and why.
#[derive(Args, Debug)]
pub(crate) struct Audit {
    #[command(flatten)]
    common: CommonArgs,
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
        /// Name of the action: replay, dismiss, run_now or cancel, for one job or for many; bulk_replay, bulk_dismiss, bulk_run_now or
        /// bulk_cancel, for many; pause, resume, recount, pause_bulk, resume_bulk, cancel_bulk, enable_webhook, recover_webhook,
        /// redeliver_webhook, try_webhook_now, delete_user, export_user, switch_off_app or switch_on_app.
        #[arg(long, value_name = "NAME", value_parser = known)]
        action: Option<String>,
        /// Id of the job.
        #[arg(long, value_name = "ID")]
        job: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
}

pub(crate) async fn run(audit: Audit) -> anyhow::Result<ExitCode> {
    let Verb::List { operator, action, job, paging } = audit.verb;
    let (shards, job) = match job {
        None => (audit.common.chosen()?, None),
        Some(id) => {
            let (operations, id) = ids::find(&audit.common, IdKind::Job, &id).await?;
            let view = operations.job(&job::JobId::from_text(id.clone())).await?;
            let view = view.ok_or_else(|| Exit::NotFound(format!("there is no job {id}")))?;
            (vec![operations], Some((view.stored.user_id, view.stored.job.id)))
        }
    };
    let filter = ActionFilter {
        operator,
        action,
        job,
        before: paging.position()?,
        limit: paging.limit + 1,
        ..ActionFilter::default()
    };
    let mut found = lists::actions::<anyhow::Error>(&shards, &filter).await?;
    let next = found.cut(paging.limit).map(|action| cursor(action.created_at, &action.action_id));
    let list =
        List { name: "actions", none: "no such actions", columns: &COLUMNS, to_json: action_json, row };
    list.print(&found, next.as_deref(), audit.common.json)?;
    Ok(ExitCode::SUCCESS)
}

fn row(action: &ActionView, now: Timestamp) -> Vec<String> {
    vec![
        ago(action.created_at, now),
        action.operator.clone(),
        action_name(&action.action).to_owned(),
        on(action),
        from(action),
        action.reason.clone(),
    ]
}

/// The action and its target come first, then the operator and the reason.
pub(crate) const COLUMNS: [Column; 6] =
    [word("age", 2), word("operator", 3), word("action", 1), id("on", 0), text("from", 5), text("reason", 4)];

/// What it was done to. What was done to all of a shard says which.
fn on(action: &ActionView) -> String {
    let on = action.job_id.clone().or_else(|| action.subject.clone()).unwrap_or_default();
    match action.shard.filter(|_| action.user_id.is_empty()) {
        Some(shard) => format!("{on} (shard {shard})").trim_start().to_owned(),
        None => on,
    }
}

fn known(name: &str) -> Result<String, String> {
    match actions_named(name).is_empty() {
        false => Ok(name.to_owned()),
        true => Err(format!("not an action: one of {}", ACTIONS.map(action_name).join(", "))),
    }
}

fn from(action: &ActionView) -> String {
    let from = action.from_code.clone().or_else(|| action.from_status.clone());
    from.or_else(|| action.detail.clone()).unwrap_or_default()
}
