//! What needs attention although everything runs: the limits at which `dashboards/rules/alerts.yml` alerts an operator,
//! for those who look at the console or at `listen doctor` instead.

use std::collections::BTreeSet;

use operations::{Backlog, EndpointView, Gauges, MANY_FAILING, Operations};

use crate::durations::lasting;

/// More parked jobs than this (`ListenJobsParked`).
const MANY_PARKED: i64 = 100;
/// A job that is parked for longer, in seconds (`ListenJobsParked`).
const LONG_PARKED: f64 = 7.0 * 86_400.0;
/// An event that waits for longer, in seconds (`ListenWebhooksLate`).
const LATE: f64 = 3_600.0;
/// More deliveries that could be sent (`ListenWebhooksLate`).
const MANY_DUE: i64 = 1_000;
/// A job that is queued or runs for longer, in seconds, whatever it waits for (`ListenJobsUnfinished`).
const UNFINISHED: f64 = 3_600.0;
/// A job that can run, does not, and was admitted longer ago, in seconds (`ListenJobsStandStill`).
pub(crate) const STANDS_STILL: f64 = 300.0;
/// Endpoints are counted up to here.
const MOST_ENDPOINTS: i64 = 100;

/// What the database says of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    parked: i64,
    oldest_parked: f64,
    oldest_unfinished: f64,
    oldest_delivery: f64,
    due: i64,
    /// Users whose endpoints fail.
    failing: i64,
}

impl Waiting {
    /// Seconds since the admission of the oldest parked job; 0 without one.
    pub(crate) fn oldest_parked(&self) -> f64 {
        self.oldest_parked
    }

    /// Adds what waits in another shard.
    pub(crate) fn add(&mut self, other: &Self) {
        self.parked += other.parked;
        self.oldest_parked = self.oldest_parked.max(other.oldest_parked);
        self.oldest_unfinished = self.oldest_unfinished.max(other.oldest_unfinished);
        self.oldest_delivery = self.oldest_delivery.max(other.oldest_delivery);
        self.due += other.due;
        self.failing += other.failing;
    }
}

/// One thing that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    /// A sentence; commands stand between backticks.
    pub(crate) words: String,
    /// The console's page about it.
    pub(crate) page: &'static str,
}

/// Asks the database; `gauges` are what was read of it just now.
pub(crate) async fn waiting(operations: &Operations, gauges: &Gauges) -> Result<Waiting, db::Error> {
    let backlog: Backlog = operations.backlog().await?;
    let endpoints = operations.endpoint_views(None, None, MOST_ENDPOINTS).await?;
    let of = |counts: &[(&'static str, i64)], name| {
        counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    };
    Ok(Waiting {
        parked: of(&gauges.jobs, "blocked_byok"),
        oldest_parked: backlog.oldest_parked_age,
        oldest_unfinished: gauges.oldest_unfinished_age,
        oldest_delivery: gauges.oldest_pending_delivery_age,
        due: of(&backlog.deliveries, "due"),
        failing: users_of_failing(&endpoints),
    })
}

/// What of it needs attention. Pure.
pub(crate) fn alerts(waiting: &Waiting) -> Vec<Alert> {
    let mut found = Vec::new();
    let mut tell = |words: String, page| found.push(Alert { words, page });
    if waiting.oldest_unfinished > UNFINISHED {
        let age = lasting(waiting.oldest_unfinished);
        tell(format!("The oldest unfinished job is {age} old."), "/console/jobs?status=queued");
    }
    if waiting.parked > MANY_PARKED || waiting.oldest_parked > LONG_PARKED {
        let words = "jobs wait for keys that their users do not bring, the oldest for";
        tell(
            format!("{} {words} {}.", waiting.parked, lasting(waiting.oldest_parked)),
            "/console/jobs?status=blocked_byok",
        );
    }
    if waiting.oldest_delivery > LATE || waiting.due > MANY_DUE {
        let words = "deliveries of webhooks are due, and the oldest event waits for";
        tell(format!("{} {words} {}.", waiting.due, lasting(waiting.oldest_delivery)), "/console/webhooks");
    }
    // The endpoint of one user is that user's to repair; of many, the way out may be closed.
    if waiting.failing >= MANY_FAILING {
        let words = "users' webhook endpoints fail: is the way out open? `listen webhooks list`.";
        tell(format!("{} {words}", waiting.failing), "/console/webhooks");
    }
    found
}

fn users_of_failing(endpoints: &[EndpointView]) -> i64 {
    // One that is disabled is not tried any more, and says nothing of the way out.
    let failing = endpoints.iter().filter(|view| view.enabled && view.failing_since.is_some());
    let users: BTreeSet<&str> = failing.map(|view| view.user_id.as_str()).collect();
    i64::try_from(users.len()).unwrap_or(MOST_ENDPOINTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(waiting: &Waiting) -> Vec<&'static str> {
        alerts(waiting).iter().map(|alert| alert.page).collect()
    }

    #[test]
    fn alerts_appear_at_their_limit_and_not_below() {
        let calm = Waiting {
            parked: 100,
            oldest_parked: 6.9 * 86_400.0,
            oldest_unfinished: 3_600.0,
            oldest_delivery: 3_600.0,
            due: 1_000,
            failing: 0,
        };
        assert_eq!(alerts(&calm), []);
        let (parked, hooks) = (vec!["/console/jobs?status=blocked_byok"], vec!["/console/webhooks"]);
        assert_eq!(pages(&Waiting { parked: 101, ..calm.clone() }), parked);
        let queued = vec!["/console/jobs?status=queued"];
        assert_eq!(pages(&Waiting { oldest_unfinished: 3_601.0, ..calm.clone() }), queued);
        assert_eq!(pages(&Waiting { oldest_parked: 604_801.0, ..calm.clone() }), parked);
        assert_eq!(pages(&Waiting { oldest_delivery: 3_601.0, ..calm.clone() }), hooks);
        assert_eq!(pages(&Waiting { due: 1_001, ..calm.clone() }), hooks);
        assert_eq!(pages(&Waiting { failing: 4, ..calm.clone() }), Vec::<&str>::new(), "theirs to repair");
        assert_eq!(pages(&Waiting { failing: 5, ..calm }), hooks);
        let young = Waiting { parked: 101, oldest_parked: 5_400.0, ..Waiting::default() };
        assert!(alerts(&young)[0].words.ends_with("the oldest for 90 min."), "{:?}", alerts(&young));
    }

    #[test]
    fn alert_limits_equal_the_alert_rules() {
        let alerts = include_str!("../dashboards/rules/alerts.yml");
        for limit in [
            format!("listen_finalization_jobs{{status=\"blocked_byok\"}}) > {MANY_PARKED})"),
            "listen_finalization_oldest_parked_age_seconds) > 7 * 86400)".to_owned(),
            format!("listen_webhook_oldest_pending_age_seconds) > {LATE})"),
            format!("listen_webhook_backlog{{state=\"due\"}}) > {MANY_DUE})"),
            format!("listen_finalization_oldest_unfinished_age_seconds) > {UNFINISHED}"),
            format!("listen_finalization_oldest_ready_age_seconds) > {STANDS_STILL}"),
        ] {
            assert!(alerts.contains(&limit), "{limit}");
        }
    }
}
