//! Live conversations: whose, in which process, how many segments, and when each is processed. Never words.

use askama::Template;
use job::Timestamp;
use operations::{ModelServers, Operations, ServerKind};
use store::LiveView;

use super::{
    Console, Fault, Frame, Moment, Query, Shown, Visitor, live_page,
    overview::{Server, server},
    shards::user,
};
use crate::{lists, model_servers, over_shards::each};

/// Conversations on the page: those that are processed first.
const PAGE: i64 = 100;

/// The visitor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(default)]
pub(super) struct Of {
    user: String,
}

#[derive(Template)]
#[template(path = "sessions.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    without: Option<String>,
    of: Of,
    servers: Vec<Server>,
    lines: Vec<Line>,
    is_full: bool,
}

struct Line {
    view: LiveView,
    connected: Moment,
    active: Moment,
    ends: Moment,
}

impl Line {
    fn new(view: LiveView, now: Timestamp) -> Self {
        Self {
            connected: Moment::new(view.live_since, now),
            active: Moment::new(view.last_activity_at, now),
            ends: Moment::new(view.process_after, now),
            view,
        }
    }
}

pub(super) async fn list(visitor: Visitor, console: Console, Query(of): Query<Of>) -> Shown {
    let frame = Frame::of(visitor, "sessions", "Live audio").live();
    console.show(frame, |frame| page(&console, frame, of)).await
}

live_page!(Page);

async fn page(console: &Console, frame: Frame, of: Of) -> Result<Page, Fault> {
    let user = user(&of.user);
    let reached = console.reached(user.as_ref()).await?;
    let mut views = lists::live::<db::Error>(&reached.shards, user.as_ref(), PAGE).await?;
    views.cut(PAGE);
    let is_full = i64::try_from(views.rows.len()).is_ok_and(|count| count >= PAGE);
    let lines = views.rows.into_iter().map(|view| Line::new(view, reached.now)).collect();
    let report = |shard: Operations| async move { shard.db().in_time(shard.model_servers()).await };
    let reports = each(&reached.shards, report).await?;
    let without = reached.without(&[views.away, reports.away].concat());
    let mut servers = ModelServers::default();
    reports.of.into_iter().for_each(|(_, reports)| servers.add(reports));
    let servers = model_servers::summaries(&servers);
    let servers = servers.iter().filter(|summary| summary.kind == ServerKind::Speech).map(server).collect();
    Ok(Page { frame, without, of, servers, lines, is_full })
}
