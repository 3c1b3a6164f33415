//! Bulk replays as they go on: the list of them, one with its items, and changing its course.

use askama::Template;
use axum::response::Redirect;
use job::Timestamp;
use operations::{Operations, ReplayChange, ReplayItem, ReplayView};
use serde::Deserialize;

use super::{
    Acted, Acting, Asked, Confirm, Console, Fault, Frame, Moment, Query, Shown, Visitor,
    chart::{self, Chart},
    count,
    extract::Path,
    in_time, live_page,
    shards::without,
};
use crate::{lists, over_shards::cut};

/// Operations on a page, and items on another.
const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "replays.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    without: Option<String>,
    operations: Vec<Operation>,
}

#[derive(Template)]
#[template(path = "replay.html", blocks = ["live"])]
pub(super) struct OnePage {
    frame: Frame,
    operation: Operation,
    counts: Vec<(&'static str, String, &'static str)>,
    /// Each with the moment of its last change.
    items: Vec<(ReplayItem, Option<Moment>)>,
    next: Option<i32>,
    is_first: bool,
}

struct Operation {
    view: ReplayView,
    is_open: bool,
    items: String,
    made: Moment,
    progress: Chart,
}

/// Where a page of items begins, and what was just done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Place {
    pub(super) after: i32,
    done: Option<String>,
}

pub(super) async fn list(visitor: Visitor, console: Console) -> Shown {
    let frame = Frame::of(visitor, "replays", "Replays").live();
    console.show(frame, |frame| all(&console, frame)).await
}

live_page!(Page);
live_page!(OnePage);

/// The list as it is now.
async fn all(console: &Console, frame: Frame) -> Result<Page, Fault> {
    let mut found = lists::replays::<db::Error>(&console.all(), PAGE).await?;
    found.cut(PAGE);
    let operations = found.rows.into_iter().map(|view| operation(view, found.now)).collect();
    Ok(Page { frame, without: without(found.away), operations })
}

pub(super) async fn show(
    visitor: Visitor,
    console: Console,
    Path(id): Path<String>,
    Query(place): Query<Place>,
) -> Shown {
    let frame = Frame::of(visitor, "replays", "Bulk replay");
    let frame = frame.live().after(place.done.as_deref());
    let read = async |frame| {
        let shard = console.of_replay(&id).await?;
        in_time(&shard, page(&shard, frame, id, place.after)).await
    };
    console.show(frame, read).await
}

/// One replay as it is now, with its items behind the position `after`.
pub(super) async fn page(
    operations: &Operations,
    frame: Frame,
    id: String,
    after: i32,
) -> Result<OnePage, Fault> {
    let now = operations.db().now().await?;
    let view = find(operations, &id).await?;
    let mut items = operations.replay_items(&id, after, PAGE + 1).await?;
    let next = cut(&mut items, PAGE).map(|last| last.position);
    let number = |jobs: i32| count(i64::from(jobs));
    let changed = |item: ReplayItem| {
        let at = item.changed_at.map(|at| Moment::new(at, now));
        (item, at)
    };
    Ok(OnePage {
        frame,
        counts: vec![
            ("completed", number(view.completed), "done"),
            ("unfinished", number(view.unfinished()), "going"),
            ("parked for keys", number(view.parked), "parked"),
            ("died again", number(view.died_again), "failed"),
            ("refused", number(view.refused), "refused"),
            ("waiting", number(view.waiting()), "waiting"),
        ],
        operation: operation(view, now),
        items: items.into_iter().map(changed).collect(),
        next,
        is_first: after == 0,
    })
}

async fn find(operations: &Operations, id: &str) -> Result<ReplayView, Fault> {
    let found = operations.replay_operation(id).await?;
    found.ok_or_else(|| Fault::Missing(format!("There is no replay {id}.")))
}

fn operation(view: ReplayView, now: Timestamp) -> Operation {
    let parts = [
        ("done", view.completed),
        ("going", view.unfinished()),
        ("parked", view.parked),
        ("failed", view.died_again),
        ("refused", view.refused),
    ];
    Operation {
        is_open: matches!(view.status.as_str(), "running" | "paused"),
        items: count(i64::from(view.items)),
        made: Moment::new(view.created_at, now),
        progress: chart::progress(&parts, view.items),
        view,
    }
}

pub(super) async fn ask(
    visitor: Visitor,
    console: Console,
    Path((id, change)): Path<(String, String)>,
) -> Asked {
    let shard = console.of_replay(&id).await?;
    let view = in_time(&shard, find(&shard, &id)).await?;
    let (_, button, sentence) = course(&change)?;
    Ok(Confirm {
        sentences: vec![format!("{} of {} jobs wait.", view.waiting(), view.items), sentence.to_owned()],
        action: format!("/console/replays/{}/{change}", view.operation_id),
        button,
        back: format!("/console/replays/{}", view.operation_id),
        ..Confirm::new(visitor, "replays", format!("{button} this replay?"))
    })
}

pub(super) async fn change(
    console: Console,
    Path((id, change)): Path<(String, String)>,
    acting: Acting,
) -> Acted {
    let (what, _, _) = course(&change)?;
    let word = match what {
        ReplayChange::Pause => "paused",
        ReplayChange::Resume => "resumed",
        ReplayChange::Cancel => "cancelled",
    };
    let (operations, action) = (&console.of_replay(&id).await?, acting.action()?);
    match operations.db().in_time(operations.change_replay(&id, what, &action)).await? {
        None => Err(Fault::Missing(format!("There is no replay {id}.")).into()),
        Some(false) => {
            let status = in_time(operations, find(operations, &id)).await?.status;
            Err(Fault::Refused(format!("The replay is {status}.")).into())
        }
        Some(true) => Ok(Redirect::to(&format!("/console/replays/{id}?done={word}"))),
    }
}

fn course(change: &str) -> Result<(ReplayChange, &'static str, &'static str), Fault> {
    match change {
        "pause" => {
            Ok((ReplayChange::Pause, "Pause", "Nothing more is replayed for now; what was replayed goes on."))
        }
        "resume" => {
            Ok((ReplayChange::Resume, "Resume", "The jobs that wait are replayed at the rate that was set."))
        }
        "cancel" => Ok((
            ReplayChange::Cancel,
            "Cancel",
            "Nothing more is replayed, for good; what was replayed goes on.",
        )),
        _ => Err(Fault::Missing("There is no such change.".to_owned())),
    }
}
