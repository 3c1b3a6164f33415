//! One box for any id: straight to what it names, or a list where several begin or end so.

use askama::Template;
use axum::response::{IntoResponse, Redirect};
use operations::{FOUND_WITHIN, FoundId, IdKind, Operations};
use serde::Deserialize;

use super::{Console, Frame, Query, Shown, Visitor, query, render, shards::without, words::segment};
use crate::over_shards::each;

/// Rows of the list.
const PAGE: usize = 50;

/// What was typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Typed {
    id: String,
}

#[derive(Template)]
#[template(path = "find.html")]
struct Page {
    frame: Frame,
    without: Option<String>,
    text: String,
    found: Vec<Row>,
    is_cut: bool,
}

struct Row {
    id: String,
    kind: String,
    user: String,
    address: String,
}

pub(super) async fn show(visitor: Visitor, console: Console, Query(typed): Query<Typed>) -> Shown {
    let text = typed.id.trim().trim_matches('…').to_owned();
    let typed = text.as_str();
    let find = |shard: Operations| async move {
        shard.db().within(FOUND_WITHIN, shard.find_ids(None, None, typed, PAGE as i64 + 1)).await
    };
    let answers = each(&console.all(), find).await?;
    let mut found: Vec<FoundId> = answers.of.into_iter().flat_map(|(_, found)| found).collect();
    if found.iter().any(|one| one.id == text) {
        // Another shard may have ids that begin or end so.
        found.retain(|one| one.id == text);
    }
    // What is typed in part may also be of a shard that did not answer.
    if let [one] = found.as_slice()
        && (one.id == text || answers.away.is_empty())
    {
        return Ok(Redirect::to(&address(one)).into_response());
    }
    let is_cut = found.len() > PAGE;
    found.truncate(PAGE);
    let frame = Frame::of(visitor, "", format!("Find {text}"));
    let without = without(answers.away);
    Ok(render(&Page { frame, without, text, found: found.into_iter().map(row).collect(), is_cut }))
}

fn row(found: FoundId) -> Row {
    let address = address(&found);
    let kind = found.kind.as_str().replace('_', " ");
    Row { id: found.id, kind, user: found.user_id, address }
}

/// Where it is shown.
fn address(found: &FoundId) -> String {
    let (user, id, within) = (found.user_id.as_str(), found.id.as_str(), found.within.as_str());
    let jobs = || format!("/console/jobs?{}", query(&[("user", user)]));
    match found.kind {
        IdKind::Job => format!("/console/jobs/{}", segment(id)),
        IdKind::Conversation if within.is_empty() => jobs(),
        IdKind::Conversation => format!("/console/jobs/{}", segment(within)),
        IdKind::Replay => format!("/console/replays/{}", segment(id)),
        IdKind::Endpoint => {
            format!("/console/webhooks/endpoint?{}", query(&[("user", user), ("endpoint", id)]))
        }
        IdKind::Delivery => {
            let named = [("user", user), ("endpoint", within), ("delivery", id)];
            format!("/console/webhooks/delivery?{}", query(&named))
        }
        IdKind::App | IdKind::AppKey => format!("/console/apps?{}", query(&[("user", user)])),
        IdKind::User | IdKind::Key | IdKind::Folder => jobs(),
    }
}
