//! `listen replays`: bulk replays, which `listen jobs replay` begins and the service works off.

pub(crate) mod hands;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ledger::Ledger;
use operations::{Operations, ReplayChange, ReplayItem, ReplayView};
use serde_json::{Value, json};

pub(crate) use self::watch::watch;
use super::{
    consent::Cause,
    jobs::{filter::ago, show::time},
    stdout::say,
    table::{self, Asked, field, print_json},
};
use crate::exit::Exit;

/// Bulk replays: what `listen jobs replay` began with a filter.
#[derive(Args, Debug)]
pub(crate) struct Replays {
    #[command(flatten)]
    asked: Asked,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List bulk replays, newest first.
    List {
        /// Maximum number of rows.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
    },
    /// Show a bulk replay and the result of each job.
    Show {
        /// Id.
        id: String,
        /// Continue behind this item.
        #[arg(long, default_value_t = 0, value_name = "POSITION")]
        after: i32,
        /// Maximum number of items.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(0..=10_000))]
        limit: i64,
    },
    /// Watch a bulk replay until it ends.
    Watch {
        /// Id.
        id: String,
    },
    /// Pause a bulk replay; jobs already replayed go on.
    Pause(Change),
    /// Resume a bulk replay.
    Resume(Change),
    /// Cancel a bulk replay for good; jobs already replayed go on.
    Cancel(Change),
}

#[derive(Args, Debug)]
struct Change {
    /// Id.
    id: String,
    #[command(flatten)]
    cause: Cause,
}

/// Runs one verb.
///
/// # Errors
/// When the database does not answer, there is no such replay, or its status refuses.
pub(crate) async fn run(replays: Replays) -> anyhow::Result<ExitCode> {
    let ledger = replays.asked.ledger()?;
    let as_json = replays.asked.json;
    match replays.verb {
        Verb::List { limit } => list(&ledger, limit, as_json).await?,
        Verb::Show { id, after, limit } => {
            let view = find(&ledger, &id).await?;
            let items = Operations::new(&ledger).replay_items(&id, after, limit).await?;
            show(&view, &items, as_json)?;
        }
        Verb::Watch { id } => {
            if find(&ledger, &id).await?.status == "running" {
                hands::tell(&ledger).await?;
            }
            return watch(&ledger, &id, as_json).await;
        }
        Verb::Pause(change) => apply(&ledger, &change, ReplayChange::Pause, as_json).await?,
        Verb::Resume(change) => {
            apply(&ledger, &change, ReplayChange::Resume, as_json).await?;
            hands::tell(&ledger).await?;
        }
        Verb::Cancel(change) => apply(&ledger, &change, ReplayChange::Cancel, as_json).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one operation.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print_one(view: &ReplayView, as_json: bool) -> anyhow::Result<()> {
    show(view, &[], as_json)
}

async fn find(ledger: &Ledger, id: &str) -> anyhow::Result<ReplayView> {
    Operations::new(ledger).replay_operation(id).await?.ok_or_else(|| no_replay(id))
}

fn no_replay(id: &str) -> anyhow::Error {
    Exit::NotFound(format!("there is no replay {id}")).into()
}

async fn apply(ledger: &Ledger, change: &Change, what: ReplayChange, as_json: bool) -> anyhow::Result<()> {
    match Operations::new(ledger).change_replay(&change.id, what, &change.cause.action()).await? {
        None => Err(no_replay(&change.id)),
        Some(false) => {
            let view = find(ledger, &change.id).await?;
            Err(Exit::Refused(format!("the replay is {}", view.status)).into())
        }
        Some(true) => print_one(&find(ledger, &change.id).await?, as_json),
    }
}

async fn list(ledger: &Ledger, limit: i64, as_json: bool) -> anyhow::Result<()> {
    let views = Operations::new(ledger).replay_operations(limit).await?;
    if as_json {
        return print_json(&views.iter().map(to_json).collect::<Value>());
    }
    if views.is_empty() {
        anstream::eprintln!("no replays");
        return Ok(());
    }
    let now = ledger.db().now().await?;
    let rows = views.iter().map(|view| {
        vec![
            view.operation_id.clone(),
            view.status.clone(),
            format!("{}/{}", view.replayed + view.refused, view.items),
            view.completed.to_string(),
            view.died_again.to_string(),
            view.refused.to_string(),
            ago(view.created_at, now),
            view.operator.clone(),
            view.filter.clone(),
        ]
    });
    let headings =
        ["replay", "status", "done", "completed", "died again", "refused", "age", "operator", "which"];
    table::print(&headings, rows.collect())
}

fn show(view: &ReplayView, items: &[ReplayItem], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let mut all = to_json(view);
        if let Some(fields) = all.as_object_mut()
            && !items.is_empty()
        {
            fields.insert("list".into(), items.iter().map(item_json).collect());
        }
        return print_json(&all);
    }
    for (name, value) in [
        ("replay", view.operation_id.clone()),
        ("status", view.status.clone()),
        ("which", view.filter.clone()),
        (
            "jobs",
            format!(
                "{}: {} waiting, {} replayed, {} refused",
                view.items,
                view.waiting(),
                view.replayed,
                view.refused
            ),
        ),
        (
            "of the replayed",
            format!(
                "{} completed, {} died again, {} parked, {} unfinished",
                view.completed,
                view.died_again,
                view.parked,
                view.unfinished()
            ),
        ),
        ("caps", format!("{} a minute, {} unfinished at once", view.per_minute, view.in_flight)),
        ("asked for", format!("{} by {}: {}", time(view.created_at), view.operator, view.reason)),
        ("worked off by", view.executor.clone().unwrap_or_else(|| "no process yet".to_owned())),
    ] {
        field(name, &value)?;
    }
    if !items.is_empty() {
        let rows = items.iter().map(|item| {
            vec![
                item.position.to_string(),
                item.job_id.clone(),
                item.status.clone(),
                item.result.clone().unwrap_or_default(),
                item.changed_at.map(time).unwrap_or_default(),
            ]
        });
        say!("")?;
        table::print(&["#", "job", "status", "result", "at"], rows.collect())?;
    }
    Ok(())
}

fn to_json(view: &ReplayView) -> Value {
    json!({
        "replay_id": view.operation_id, "status": view.status, "which": view.filter, "operator": view.operator,
        "reason": view.reason, "from_scratch": view.from_scratch, "per_minute": view.per_minute,
        "in_flight": view.in_flight, "jobs": view.items, "waiting": view.waiting(), "replayed": view.replayed,
        "refused": view.refused, "completed": view.completed, "died_again": view.died_again,
        "parked": view.parked, "unfinished": view.unfinished(), "executor": view.executor,
        "created_at": time(view.created_at), "updated_at": time(view.updated_at),
        "finished_at": view.finished_at.map(time),
    })
}

fn item_json(item: &ReplayItem) -> Value {
    json!({ "position": item.position, "job_id": item.job_id, "user_id": item.user_id, "status": item.status,
        "result": item.result, "changed_at": item.changed_at.map(time) })
}
