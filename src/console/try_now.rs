//! Deliveries that need not wait for their next try: one, or all of an endpoint that is back.

use axum::response::Redirect;
use operations::TriedNow;
use records::UserId;
use tokio::time::Instant;

use super::{
    Acted, Acting, Confirm, Console, Fault, LONGEST_ORDER, Query, Visitor,
    page::IN_PART,
    query,
    webhooks::{Which, missing},
};
use crate::commands::webhooks::words;

/// Where what is tried is shown: a delivery, or all that wait for an endpoint.
fn page(which: &Which, done: &str) -> String {
    let named = [("user", &*which.user), ("endpoint", &*which.endpoint), ("delivery", &*which.delivery)];
    let query = query(&[&named[..], &[("done", done)]].concat());
    let page = if which.delivery.is_empty() { "endpoint" } else { "delivery" };
    format!("/console/webhooks/{page}?{query}")
}

pub(super) async fn ask(visitor: Visitor, Query(which): Query<Which>) -> Confirm {
    let (title, subject) = match which.delivery.as_str() {
        "" => ("Try all that wait for this endpoint?", &which.endpoint),
        _ => ("Try this delivery now?", &which.delivery),
    };
    let sentence = "What waits for its next try is due now, and the endpoint's breaker lets one try through; when it gets \
                    through, the others follow. Tries are kept.";
    let hidden = [("user", &which.user), ("endpoint", &which.endpoint), ("delivery", &which.delivery)];
    Confirm {
        sentences: vec![sentence.to_owned()],
        subject: subject.clone(),
        hidden: hidden.map(|(name, value)| (name, value.clone())).into(),
        action: "/console/webhooks/try-now".to_owned(),
        button: "Try now",
        back: page(&which, ""),
        ..Confirm::new(visitor, "webhooks", title)
    }
}

/// `POST /console/webhooks/try-now`. Batch by batch, so that no rows are locked for long.
pub(super) async fn act(console: Console, acting: Acting) -> Acted {
    let field = |name| acting.field(name).unwrap_or_default().to_owned();
    let which = Which {
        user: field("user"),
        endpoint: field("endpoint"),
        delivery: field("delivery"),
        ..Which::default()
    };
    let (user, action) = (UserId::new(&*which.user), acting.action()?);
    let operations = console.of_user(&user);
    let (mut word, until) = ("unchanged", Instant::now() + LONGEST_ORDER);
    loop {
        let tried = match which.delivery.as_str() {
            "" => {
                operations.db().in_time(operations.try_endpoint_now(&user, &which.endpoint, &action)).await?
            }
            delivery => {
                operations
                    .db()
                    .in_time(operations.try_delivery_now(&user, &which.endpoint, delivery, &action))
                    .await?
            }
        };
        match tried.ok_or_else(|| missing(&which.endpoint))? {
            // A last batch; or the one delivery, which may be under way by now.
            TriedNow::Due(some) if some < TriedNow::BATCH => {
                return Ok(Redirect::to(&page(&which, "tried-now")));
            }
            TriedNow::Due(_) if Instant::now() >= until => return Ok(Redirect::to(&page(&which, IN_PART))),
            TriedNow::Due(_) => word = "tried-now",
            TriedNow::Nothing => return Ok(Redirect::to(&page(&which, word))),
            refused => return Err(Fault::Refused(format!("Not tried: {}.", words(refused))).into()),
        }
    }
}
