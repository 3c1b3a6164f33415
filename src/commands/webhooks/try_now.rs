//! `listen webhooks try-now`: deliveries that need not wait for their next try.

use operations::{EndpointView, IdKind, Operations, TriedNow};
use serde_json::json;

use super::{Meant, none};
use crate::{
    commands::{
        consent::Cause,
        ids,
        jobs::several,
        stderr::note,
        stdout::say,
        table::{print_json, wrapped},
    },
    exit::Exit,
};

/// Tries one delivery, or all that wait, batch by batch, so that no rows are locked for long.
pub(super) async fn run(
    operations: &Operations,
    endpoint: &Meant,
    delivery: Option<String>,
    cause: &Cause,
    as_json: bool,
) -> anyhow::Result<()> {
    let (Meant { user, id }, action) = (endpoint, cause.action());
    let delivery = match delivery {
        Some(end) => Some(ids::whole(operations, IdKind::Delivery, Some(user), &end).await?),
        None => None,
    };
    let delivery = delivery.as_deref();
    let mut all = 0;
    loop {
        let tried = match delivery {
            Some(delivery) => operations
                .try_delivery_now(user, id, delivery, &action)
                .await?
                .ok_or_else(|| Exit::NotFound(format!("{id} has no delivery {delivery}")))?,
            None => operations.try_endpoint_now(user, id, &action).await?.ok_or_else(|| none(endpoint))?,
        };
        match tried {
            TriedNow::Due(some) => {
                all += some;
                // A last batch; or the one delivery, which may be under way by now.
                if some < TriedNow::BATCH {
                    break;
                }
            }
            TriedNow::Nothing => break,
            refused => return Err(Exit::Refused(format!("{id}: {}", words(refused))).into()),
        }
    }
    match as_json {
        true => print_json(&json!({ "endpoint": id, "delivery": delivery, "due": all })),
        false => match all {
            0 => say!("nothing waits for its next try"),
            1 => say!("1 delivery is tried now"),
            many => say!(
                "{many} deliveries are due now; one is tried first, and the others follow when it gets through"
            ),
        },
    }
}

/// Why nothing was tried.
pub(crate) fn words(refused: TriedNow) -> &'static str {
    match refused {
        TriedNow::Due(_) | TriedNow::Nothing => "nothing waits for its next try",
        TriedNow::UnderWay => "the delivery is under way",
        TriedNow::Ended => {
            "the delivery has ended; `listen webhooks recover` or the console makes it due again"
        }
        TriedNow::Disabled => {
            "the endpoint is disabled, and what waits for it waits for `listen webhooks enable`"
        }
    }
}

/// After a recovery: what waited for its next try `before` waits still, and need not.
pub(super) fn hint(before: &EndpointView, endpoint: &Meant) {
    if before.enabled && before.waiting > 0 {
        let note = format!(
            "{} for the next try: `listen webhooks try-now {} --user {} --reason …` tries at once",
            several(before.waiting, "delivery waits", "deliveries wait"),
            endpoint.id,
            endpoint.user
        );
        note!("{}", wrapped("", &note));
    }
}
