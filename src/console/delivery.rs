//! One delivery to an endpoint: its tries, their last answer, and one more round of them. Its body is never shown.

use askama::Template;
use axum::response::Redirect;
use job::Timestamp;
use operations::{ActionFilter, Operations, delivery_subject};
use outbox::{DeliveryView, Redelivery};
use records::UserId;

use super::{
    Acted, Acting, Asked, Confirm, Console, Fault, Frame, Moment, Query, Shown, Visitor,
    audit::Line,
    endpoint::words,
    in_time, live_page, query,
    webhooks::{Which, answer, missing},
};

#[derive(Template)]
#[template(path = "delivery.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    which: Which,
    host: String,
    status: String,
    words: &'static str,
    /// The way of a delivery: (status, words, whether it is here).
    way: Vec<(&'static str, &'static str, bool)>,
    has_ended: bool,
    /// It waits for its next try, and need not.
    waits: bool,
    sentence: String,
    facts: Vec<(&'static str, String)>,
    moments: Vec<(&'static str, Moment)>,
    actions: Vec<Line>,
}

pub(super) async fn show(visitor: Visitor, console: Console, Query(which): Query<Which>) -> Shown {
    let frame = Frame::of(visitor, "webhooks", format!("Delivery {}", which.delivery));
    let frame = frame.live().after(which.done.as_deref());
    let shard = &console.of_user(&UserId::new(&*which.user));
    console.show(frame, |frame| in_time(shard, page(shard, frame, which))).await
}

live_page!(Page);

pub(super) async fn page(operations: &Operations, frame: Frame, which: Which) -> Result<Page, Fault> {
    let now = operations.db().now().await?;
    let user = UserId::new(&*which.user);
    let endpoint = operations.endpoint_views(Some(&user), Some(&which.endpoint), 1).await?.pop();
    let endpoint = endpoint.ok_or_else(|| missing(&which.endpoint))?;
    let line = find(operations, &which).await?;
    let about = Some((user, delivery_subject(&which.endpoint, &which.delivery)));
    let actions = operations.actions(&ActionFilter { about, limit: 20, ..ActionFilter::default() }).await?;
    Ok(Page {
        frame,
        host: endpoint.host,
        words: words(&line.status),
        way: way(&line.status),
        waits: line.status == "pending" && !line.parked,
        has_ended: line.finished_at.is_some(),
        sentence: sentence(&line),
        facts: facts(&line),
        moments: moments(&line, now),
        actions: actions.into_iter().map(|action| Line::new(action, now)).collect(),
        status: line.status,
        which,
    })
}

async fn find(operations: &Operations, which: &Which) -> Result<DeliveryView, Fault> {
    let user = UserId::new(&*which.user);
    let found = operations.outbox().delivery(&user, &which.endpoint, &which.delivery).await?;
    found.ok_or_else(|| Fault::Missing(format!("There is no delivery {} to this endpoint.", which.delivery)))
}

fn way(here: &str) -> Vec<(&'static str, &'static str, bool)> {
    let end = match here {
        "exhausted" => "exhausted",
        "cancelled" => "cancelled",
        _ => "delivered",
    };
    ["pending", "sending", end].map(|status| (status, words(status), status == here)).into()
}

/// What is to be expected of it.
fn sentence(line: &DeliveryView) -> String {
    let tries = match line.tries {
        0 => "It has not been tried in this round".to_owned(),
        1 => "It was tried once".to_owned(),
        many => format!("It was tried {many} times"),
    };
    let then = match line.status.as_str() {
        "pending" if line.parked => "waits until its endpoint is enabled",
        "pending" => "will be tried by itself",
        "sending" => "is under way",
        "delivered" => "got through",
        "exhausted" => "was given up: it is not tried again, unless it is asked for",
        _ => "was cancelled: the endpoint wanted no more, or what it was about is gone",
    };
    format!("{tries}, and {then}.")
}

fn facts(line: &DeliveryView) -> Vec<(&'static str, String)> {
    let or = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
    vec![
        ("Event", line.event.clone()),
        ("Conversation", or(line.conversation_id.clone(), "none")),
        ("Revision", or(line.revision.map(|revision| revision.to_string()), "none")),
        ("Tries of this round", line.tries.to_string()),
        ("Claims of all rounds", line.epoch.to_string()),
        ("Last answer", or(Some(answer(line.last_status, None)).filter(|text| !text.is_empty()), "none")),
        ("Last error", line.last_error.as_deref().map_or("none", error).to_owned()),
    ]
}

/// A bounded error code in words.
fn error(code: &str) -> &'static str {
    match code {
        "timeout" => "no answer in time",
        "unreachable" => "could not be reached",
        "refused_address" => "its address may not be called",
        "status" => "the answer was not a 2xx",
        "abandoned" => "its sender died",
        "unreadable" => "what it is about could not be read",
        _ => "something else",
    }
}

fn moments(line: &DeliveryView, now: Timestamp) -> Vec<(&'static str, Moment)> {
    let at = |name, at: Option<Timestamp>| at.map(|at| (name, Moment::new(at, now)));
    let all = [
        at("Happened", Some(line.occurred_at)),
        at("Made", Some(line.created_at)),
        at("Next try", line.next_at.filter(|_| line.status == "pending")),
        at("Ended", line.finished_at),
    ];
    all.into_iter().flatten().collect()
}

pub(super) async fn ask(visitor: Visitor, console: Console, Query(which): Query<Which>) -> Asked {
    let shard = &console.of_user(&UserId::new(&*which.user));
    let line = in_time(shard, find(shard, &which)).await?;
    let again = "It is due at once under its old id, with a whole round of tries; at a disabled endpoint it waits \
                 until that is enabled. A receiver that has seen the id may pass it by.";
    let hidden = [("user", which.user.clone()), ("endpoint", which.endpoint.clone())];
    Ok(Confirm {
        sentences: vec![sentence(&line), again.to_owned()],
        subject: which.delivery.clone(),
        action: "/console/webhooks/redeliver".to_owned(),
        hidden: hidden.into_iter().chain([("delivery", which.delivery.clone())]).collect(),
        button: "Redeliver",
        back: format!("/console/webhooks/delivery?{}", which.query()),
        ..Confirm::new(visitor, "webhooks", "Redeliver this event?")
    })
}

pub(super) async fn redeliver(console: Console, acting: Acting) -> Acted {
    let field = |name| acting.field(name).unwrap_or_default();
    let (user, endpoint, delivery) = (field("user"), field("endpoint"), field("delivery"));
    let action = acting.action()?;
    let whose = UserId::new(user);
    let operations = console.of_user(&whose);
    match operations
        .db()
        .in_time(operations.redeliver_for_operator(&whose, endpoint, delivery, &action))
        .await?
    {
        Redelivery::Missing => {
            Err(Fault::Missing(format!("There is no delivery {delivery} to this endpoint.")).into())
        }
        Redelivery::UnderWay => {
            Err(Fault::Refused("It has not ended: it will be tried anyway.".to_owned()).into())
        }
        Redelivery::Due(_) => {
            let named = [("user", user), ("endpoint", endpoint), ("delivery", delivery)];
            let query = query(&[&named[..], &[("done", "redelivered")]].concat());
            Ok(Redirect::to(&format!("/console/webhooks/delivery?{query}")))
        }
    }
}
