//! Webhooks: whose endpoint is in trouble, what was given up, and another try.

use askama::Template;
use axum::response::Redirect;
use job::Timestamp;
use operations::{Enabled, EndpointView, GivenUp};
use records::UserId;
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    Acted, Acting, Confirm, Console, Fault, Frame, LONGEST_ORDER, Moment, Query, Shown, Visitor,
    extract::read_place, live_page, page::IN_PART, query, shards::user,
};
use crate::{
    commands::{paging::cursor, times::age, webhooks::try_seconds},
    lists,
};

/// Rows of each table.
const PAGE: i64 = 50;
/// Deliveries that are made due in one transaction.
const BATCH: i64 = 500;

/// Whose, which, and where the list begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    pub(super) user: String,
    pub(super) endpoint: String,
    pub(super) delivery: String,
    /// Deliveries of this status alone.
    pub(super) status: String,
    pub(super) before: String,
    pub(super) done: Option<String>,
}

impl Which {
    /// The query string that means the same, without what was just done.
    pub(super) fn query(&self) -> String {
        query(&[
            ("user", &self.user),
            ("endpoint", &self.endpoint),
            ("delivery", &self.delivery),
            ("status", &self.status),
            ("before", &self.before),
        ])
    }

    /// The endpoint that is meant.
    pub(super) fn of_endpoint(&self) -> String {
        query(&[("user", &self.user), ("endpoint", &self.endpoint)])
    }
}

#[derive(Template)]
#[template(path = "webhooks.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    without: Option<String>,
    which: Which,
    endpoints: Vec<Endpoint>,
    given_up: Vec<Lost>,
    next: Option<String>,
}

pub(super) struct Endpoint {
    pub(super) view: EndpointView,
    pub(super) query: String,
    pub(super) state: &'static str,
    pub(super) words: String,
    pub(super) can_enable: bool,
    /// Deliveries wait for their next try, and need not.
    pub(super) can_try: bool,
    pub(super) since: Option<Moment>,
    /// Its breaker lets nothing through until then.
    pub(super) breaker: Option<Moment>,
    pub(super) last_success: Option<Moment>,
    pub(super) waiting: String,
    /// How long a try takes.
    pub(super) a_try: String,
}

struct Lost {
    view: GivenUp,
    query: String,
    answer: String,
    at: Moment,
}

pub(super) async fn list(visitor: Visitor, console: Console, Query(which): Query<Which>) -> Shown {
    let frame = Frame::of(visitor, "webhooks", "Webhooks").live();
    let frame = frame.after(which.done.as_deref());
    console.show(frame, |frame| page(&console, frame, which)).await
}

live_page!(Page);

async fn page(console: &Console, frame: Frame, which: Which) -> Result<Page, Fault> {
    let user = user(&which.user);
    let reached = console.reached(user.as_ref()).await?;
    let (shards, now) = (&reached.shards, reached.now);
    let mut views = lists::endpoints::<db::Error>(shards, user.as_ref(), PAGE).await?;
    views.cut(PAGE);
    let before = read_place(&which.before)?;
    let mut lost = lists::given_up::<db::Error>(shards, user.as_ref(), before.as_ref(), PAGE + 1).await?;
    let next = lost.cut(PAGE).map(|last| {
        query(&[("user", &which.user), ("before", &cursor(last.finished_at, &last.delivery_id))])
    });
    Ok(Page {
        frame,
        without: reached.without(&[views.away, lost.away].concat()),
        endpoints: views.rows.into_iter().map(|view| endpoint(view, now)).collect(),
        given_up: lost.rows.into_iter().map(|view| given_up(view, now)).collect(),
        next,
        which,
    })
}

/// An endpoint as it is seen at `now`.
pub(super) fn endpoint(view: EndpointView, now: Timestamp) -> Endpoint {
    let (state, words) = match (&view.disabled_reason, view.failing_since) {
        (Some(reason), _) => ("dead_letter", format!("disabled: {reason}")),
        (None, Some(_)) => ("blocked_byok", "failing".to_owned()),
        (None, None) if view.is_slow() => ("leased", "slow".to_owned()),
        (None, None) => ("completed", "enabled".to_owned()),
    };
    Endpoint {
        query: query(&[("user", &view.user_id), ("endpoint", &view.endpoint_id)]),
        state,
        words,
        can_try: view.enabled && view.waiting > 0,
        can_enable: !view.enabled && view.disabled_reason.as_deref() != Some("by_owner"),
        since: view.failing_since.map(|at| Moment::new(at, now)),
        breaker: view.open_until.filter(|until| *until > now).map(|until| Moment::new(until, now)),
        last_success: view.last_success_at.map(|at| Moment::new(at, now)),
        // Counting stops there.
        waiting: if view.waiting >= 1_000 { "1,000 or more".to_owned() } else { view.waiting.to_string() },
        a_try: view.try_ms.map_or("unknown".to_owned(), try_seconds),
        view,
    }
}

fn given_up(view: GivenUp, now: Timestamp) -> Lost {
    let named =
        [("user", &*view.user_id), ("endpoint", &*view.endpoint_id), ("delivery", &*view.delivery_id)];
    Lost {
        query: query(&named),
        answer: answer(view.last_status, view.last_error.as_deref()),
        at: Moment::new(view.finished_at, now),
        view,
    }
}

/// The last answer, as a status or as the bounded word for there having been none.
pub(super) fn answer(status: Option<i32>, error: Option<&str>) -> String {
    match (status, error) {
        (Some(status), _) => status.to_string(),
        (None, Some(error)) => error.replace('_', " "),
        (None, None) => String::new(),
    }
}

pub(super) async fn ask_enable(visitor: Visitor, Query(which): Query<Which>) -> Confirm {
    let sentence = "The endpoint receives events again, and what waited for it is due now.";
    Confirm {
        sentences: vec![sentence.to_owned()],
        button: "Enable",
        action: "/console/webhooks/enable".to_owned(),
        ..about(visitor, &which, "Enable this endpoint?")
    }
}

pub(super) async fn ask_recover(visitor: Visitor, Query(which): Query<Which>) -> Confirm {
    let sentence = "Deliveries that were given up, or cancelled when the endpoint said that it is gone, are due again \
                    under their old ids, oldest first; those of a disabled endpoint wait until it is enabled.";
    Confirm {
        sentences: vec![sentence.to_owned()],
        button: "Recover",
        action: "/console/webhooks/recover".to_owned(),
        age: Some("7d"),
        ..about(visitor, &which, "Recover what this endpoint lost?")
    }
}

fn about(visitor: Visitor, which: &Which, title: &str) -> Confirm {
    Confirm {
        hidden: vec![("user", which.user.clone()), ("endpoint", which.endpoint.clone())],
        subject: which.endpoint.clone(),
        back: format!("/console/webhooks/endpoint?{}", which.of_endpoint()),
        ..Confirm::new(visitor, "webhooks", title)
    }
}

pub(super) async fn enable(console: Console, acting: Acting) -> Acted {
    let (user, endpoint) = named(&acting)?;
    let (action, operations) = (acting.action()?, console.of_user(&user));
    match operations.db().in_time(operations.enable_endpoint(&user, endpoint, &action)).await? {
        None => Err(missing(endpoint).into()),
        Some(Enabled::Enabled) => Ok(back(&user, endpoint, "enabled")),
        Some(Enabled::Already) => Ok(back(&user, endpoint, "unchanged")),
        Some(Enabled::ByOwner) => {
            Err(Fault::Refused("Its owner switched it off; only they switch it on.".to_owned()).into())
        }
    }
}

/// `POST /console/webhooks/recover`. Batch by batch, so that no rows are locked for long.
pub(super) async fn recover(console: Console, acting: Acting) -> Acted {
    let (user, endpoint) = named(&acting)?;
    let (action, operations) = (acting.action()?, console.of_user(&user));
    let back_to = age(acting.field("age").unwrap_or_default());
    let back_to = back_to.map_err(|words| Fault::Unreadable(format!("How far back must be {words}.")))?;
    let now = operations.db().in_time(operations.db().now()).await?;
    let since = now - back_to;
    let (mut word, until) = ("unchanged", Instant::now() + LONGEST_ORDER);
    loop {
        let batch = operations.recover_deliveries(&user, endpoint, since, now, BATCH, &action);
        match operations.db().in_time(batch).await?.ok_or_else(|| missing(endpoint))? {
            0 => return Ok(back(&user, endpoint, word)),
            _ if Instant::now() >= until => return Ok(back(&user, endpoint, IN_PART)),
            _ => word = "recovered",
        }
    }
}

fn named(acting: &Acting) -> Result<(UserId, &str), Fault> {
    let named = acting.field("user").zip(acting.field("endpoint"));
    let named = named.ok_or_else(|| Fault::Unreadable("The form names no endpoint.".to_owned()));
    named.map(|(user, endpoint)| (UserId::new(user), endpoint))
}

/// That there is no such endpoint.
pub(super) fn missing(endpoint: &str) -> Fault {
    Fault::Missing(format!("There is no endpoint {endpoint} of this user's."))
}

fn back(user: &UserId, endpoint: &str, word: &str) -> Redirect {
    let query = query(&[("user", user.as_str()), ("endpoint", endpoint), ("done", word)]);
    Redirect::to(&format!("/console/webhooks/endpoint?{query}"))
}
