//! One endpoint: its health, its deliveries, and what operators did about it.

use askama::Template;
use db::After;
use job::Timestamp;
use operations::{ActionFilter, Operations};
use outbox::{DeliveryPage, DeliveryView};
use records::UserId;

use super::{
    Console, Fault, Frame, Moment, Query, Shown, Visitor,
    audit::Line,
    extract::read_place,
    in_time, live_page, query,
    webhooks::{Endpoint, Which, answer, endpoint, missing},
};
use crate::{commands::paging::cursor, over_shards::cut};

/// Deliveries on a page.
const PAGE: i64 = 50;
/// The statuses of a delivery, in the order of its life.
const STATUSES: [&str; 5] = ["pending", "sending", "delivered", "exhausted", "cancelled"];

#[derive(Template)]
#[template(path = "endpoint.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    which: Which,
    endpoint: Endpoint,
    statuses: [(&'static str, &'static str); 5],
    deliveries: Vec<Row>,
    next: Option<String>,
    actions: Vec<Line>,
}

struct Row {
    line: DeliveryView,
    query: String,
    words: &'static str,
    answer: String,
    made: Moment,
    next: Option<Moment>,
}

pub(super) async fn show(visitor: Visitor, console: Console, Query(which): Query<Which>) -> Shown {
    let frame = Frame::of(visitor, "webhooks", format!("Endpoint {}", which.endpoint));
    let frame = frame.live().after(which.done.as_deref());
    let shard = &console.of_user(&UserId::new(&*which.user));
    console.show(frame, |frame| in_time(shard, page(shard, frame, which))).await
}

live_page!(Page);

pub(super) async fn page(operations: &Operations, frame: Frame, which: Which) -> Result<Page, Fault> {
    let status = STATUSES.into_iter().find(|status| *status == which.status);
    if status.is_none() && !which.status.is_empty() {
        return Err(Fault::Unreadable("The field \"status\" must be one of a delivery's five.".to_owned()));
    }
    let now = operations.db().now().await?;
    let user = UserId::new(&*which.user);
    let view = operations.endpoint_views(Some(&user), Some(&which.endpoint), 1).await?.pop();
    let view = view.ok_or_else(|| missing(&which.endpoint))?;
    let after = read_place(&which.before)?.map(|(created_at, id)| After { created_at, position: 0, id });
    let asked = DeliveryPage { status, after, ..DeliveryPage::first(PAGE + 1) };
    let mut lines = operations.outbox().deliveries(&user, &which.endpoint, &asked).await?;
    let next = cut(&mut lines, PAGE).map(|last| {
        let before = cursor(last.created_at, &last.id);
        Which { before, ..which.clone() }.query()
    });
    let about = Some((user, which.endpoint.clone()));
    let actions = operations.actions(&ActionFilter { about, limit: 20, ..ActionFilter::default() }).await?;
    Ok(Page {
        frame,
        endpoint: endpoint(view, now),
        statuses: STATUSES.map(|status| (status, words(status))),
        next,
        deliveries: lines.into_iter().map(|line| row(line, &which, now)).collect(),
        actions: actions.into_iter().map(|action| Line::new(action, now)).collect(),
        which,
    })
}

fn row(line: DeliveryView, which: &Which, now: Timestamp) -> Row {
    let named = [("user", &*which.user), ("endpoint", &*which.endpoint), ("delivery", &*line.id)];
    Row {
        query: query(&named),
        words: if line.parked { "waits for its endpoint" } else { words(&line.status) },
        answer: answer(line.last_status, line.last_error.as_deref()),
        made: Moment::new(line.created_at, now),
        next: line.next_at.map(|at| Moment::new(at, now)),
        line,
    }
}

/// A delivery's status as a sentence's word.
pub(super) fn words(status: &str) -> &'static str {
    match status {
        "pending" => "waiting",
        "sending" => "under way",
        "delivered" => "delivered",
        "exhausted" => "given up",
        "cancelled" => "cancelled",
        _ => "unknown",
    }
}
