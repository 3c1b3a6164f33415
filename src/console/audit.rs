//! Who did what, and why.

use askama::Template;
use job::Timestamp;
use operations::{ACTIONS, ActionFilter, ActionView, action_name};
use serde::Deserialize;

use super::{
    Console, Frame, Moment, Query, Shown, Visitor, extract::read_place, query, render, shards::without,
};
use crate::{commands::paging::cursor, lists};

/// Actions on a page.
const PAGE: i64 = 50;

/// A filter and a place, as the address says them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    operator: String,
    action: String,
    before: String,
}

/// An action, as it is shown.
pub(super) struct Line {
    pub(super) at: Moment,
    pub(super) action: String,
    pub(super) view: ActionView,
    pub(super) subject: String,
    /// Whether the subject is a bulk replay.
    pub(super) is_bulk: bool,
    pub(super) change: String,
}

impl Line {
    /// As it is seen at `now`.
    pub(super) fn new(view: ActionView, now: Timestamp) -> Self {
        let generations = view.from_generation.zip(view.to_generation);
        let was = [view.from_status.as_deref(), view.from_code.as_deref()];
        let mut change = was.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if let Some((from, to)) = generations {
            change.push_str(&format!(", generation {from} → {to}"));
        }
        change.extend(view.detail.as_deref());
        Self {
            at: Moment::new(view.created_at, now),
            action: action_name(&view.action).to_owned(),
            is_bulk: is_of_bulk_replay(&view),
            // Of an order for many jobs, its filter and its counts say more than its id.
            subject: view.subject.clone().filter(|_| !is_order_for_many(&view)).unwrap_or_default(),
            change,
            view,
        }
    }
}

fn is_of_bulk_replay(view: &ActionView) -> bool {
    matches!(view.action.as_str(), "bulk_replay" | "pause_bulk" | "resume_bulk" | "cancel_bulk")
        || view.action == "replay" && view.subject.is_some()
}

fn is_order_for_many(view: &ActionView) -> bool {
    matches!(view.action.as_str(), "bulk_run_now" | "bulk_cancel" | "bulk_discard")
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Page {
    frame: Frame,
    without: Option<String>,
    which: Which,
    actions: Vec<(&'static str, &'static str)>,
    lines: Vec<Line>,
    next: Option<String>,
}

pub(super) async fn list(visitor: Visitor, console: Console, Query(which): Query<Which>) -> Shown {
    let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let filter = ActionFilter {
        operator: text(&which.operator),
        action: text(&which.action),
        before: read_place(&which.before)?,
        limit: PAGE + 1,
        ..ActionFilter::default()
    };
    let mut found = lists::actions::<db::Error>(&console.all(), &filter).await?;
    let next = found.cut(PAGE).map(|last| {
        let place = cursor(last.created_at, &last.action_id);
        query(&[("operator", &which.operator), ("action", &which.action), ("before", &place)])
    });
    Ok(render(&Page {
        frame: Frame::of(visitor, "audit", "Audit"),
        without: without(found.away),
        which,
        actions: ACTIONS.map(|action| (action, action_name(action))).into(),
        lines: found.rows.into_iter().map(|view| Line::new(view, found.now)).collect(),
        next,
    }))
}
