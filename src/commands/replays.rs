//! `listen replays`: bulk replays, which `listen jobs replay` begins and the service works off.

pub(crate) mod preflight;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use operations::{IdKind, Operations, ReplayChange, ReplayItem, ReplayView};
use records::Timestamp;
use serde_json::{Value, json};

pub(crate) use self::watch::follow;
use super::{
    consent::Cause,
    ids,
    paging::Paging,
    stdout::say,
    table::{self, Column, CommonArgs, List, field, id, number, print_json, text, word},
    times::{ago, time},
};
use crate::{exit::Exit, lists, over_shards::cut};

/// Bulk replays: what `listen jobs replay` began with a filter.
#[derive(Args, Debug)]
pub(crate) struct Replays {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List bulk replays, newest first.
    List {
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a bulk replay and the result of each job.
    Show {
        /// Id, or a unique beginning or end of it.
        id: String,
        /// Cursor of the page of jobs, as the page before printed it.
        #[arg(long, default_value_t = 0, value_name = "CURSOR")]
        after: i32,
        /// Maximum number of jobs.
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=10_000))]
        limit: i64,
    },
    /// Watch a bulk replay until it ends.
    Watch {
        /// Id, or a unique beginning or end of it.
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
    /// Id, or a unique beginning or end of it.
    id: String,
    #[command(flatten)]
    cause: Cause,
}

pub(crate) async fn run(replays: Replays) -> anyhow::Result<ExitCode> {
    let (common, as_json) = (&replays.common, replays.common.json);
    match replays.verb {
        Verb::List { paging } => list(&common.chosen()?, &paging, as_json).await?,
        Verb::Show { id, after, limit } => {
            let (operations, view) = find(common, &id).await?;
            let mut items = operations.replay_items(&view.operation_id, after, limit + 1).await?;
            let next = cut(&mut items, limit).map(|item| item.position.to_string());
            show(&view, Some(&items), next.as_deref(), as_json)?;
        }
        Verb::Watch { id } => {
            let (operations, view) = find(common, &id).await?;
            if view.status == "running" {
                preflight::warn(&[&operations]).await?;
            }
            let watched = follow(&operations, &view.operation_id).await?;
            print_all(watched.view.as_slice(), as_json)?;
            return Ok(watched.code);
        }
        Verb::Pause(change) => drop(apply(common, &change, ReplayChange::Pause).await?),
        Verb::Resume(change) => {
            let operations = apply(common, &change, ReplayChange::Resume).await?;
            preflight::warn(&[&operations]).await?;
        }
        Verb::Cancel(change) => drop(apply(common, &change, ReplayChange::Cancel).await?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints operations: one, or one of each shard.
pub(crate) fn print_all(views: &[ReplayView], as_json: bool) -> anyhow::Result<()> {
    match views {
        [view] => show(view, None, None, as_json),
        views if as_json => print_json(&json!({ "replays": views.iter().map(to_json).collect::<Value>() })),
        views => views.iter().enumerate().try_for_each(|(number, view)| {
            if number > 0 {
                say!("")?;
            }
            show(view, None, None, as_json)
        }),
    }
}

/// The replay that is meant, in its shard.
async fn find(common: &CommonArgs, id: &str) -> anyhow::Result<(Operations, ReplayView)> {
    let (operations, id) = ids::find(common, IdKind::Replay, id).await?;
    let view = read(&operations, &id).await?;
    Ok((operations, view))
}

async fn read(operations: &Operations, id: &str) -> anyhow::Result<ReplayView> {
    operations.replay_operation(id).await?.ok_or_else(|| no_replay(id))
}

fn no_replay(id: &str) -> anyhow::Error {
    Exit::NotFound(format!("there is no replay {id}")).into()
}

/// Changes a replay and prints it. Returns its shard.
async fn apply(common: &CommonArgs, change: &Change, what: ReplayChange) -> anyhow::Result<Operations> {
    let (operations, ReplayView { operation_id: id, .. }) = find(common, &change.id).await?;
    match operations.change_replay(&id, what, &change.cause.action()).await? {
        None => return Err(no_replay(&id)),
        Some(false) => {
            let status = read(&operations, &id).await?.status;
            return Err(Exit::Refused(format!("the replay is {status}")).into());
        }
        Some(true) => print_all(&[read(&operations, &id).await?], common.json)?,
    }
    Ok(operations)
}

async fn list(shards: &[Operations], paging: &Paging, as_json: bool) -> anyhow::Result<()> {
    let mut found = lists::replays::<anyhow::Error>(shards, paging.rows()?).await?;
    let next;
    (found.rows, next) = paging.page(found.rows)?;
    let list = List { name: "replays", none: "no replays", columns: &COLUMNS, to_json, row };
    list.print(&found, next.as_deref(), as_json)
}

fn row(view: &ReplayView, now: Timestamp) -> Vec<String> {
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
}

/// Which replay, how far it is, and which jobs it is about.
pub(crate) const COLUMNS: [Column; 9] = [
    id("replay", 0),
    word("status", 1),
    number("done", 2),
    number("completed", 5),
    number("died again", 6),
    number("refused", 7),
    word("age", 3),
    word("operator", 8),
    text("which", 4),
];

/// What became of each of its jobs.
pub(crate) const ITEMS: [Column; 5] =
    [number("#", 3), id("job", 0), word("status", 1), word("result", 2), word("at", 4)];

fn show(
    view: &ReplayView,
    items: Option<&[ReplayItem]>,
    next: Option<&str>,
    as_json: bool,
) -> anyhow::Result<()> {
    if as_json {
        let mut all = to_json(view);
        if let Some(items) = items {
            all["list"] = items.iter().map(item_json).collect();
            all["next"] = json!(next);
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
    if let Some(items) = items.filter(|items| !items.is_empty()) {
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
        table::print(&ITEMS, rows.collect())?;
        table::say_next(next);
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
