//! What endpoints let through: how many tries each may still begin, counted exactly and across processes.

use std::collections::HashMap;

use db::{Error, query_as};
use records::Timestamp;
use sqlx::PgConnection;

use super::DeliveryPolicy;
use crate::{
    fair::{DueRow, Passed},
    health::span,
    receivers::UnderWay,
};

/// A locked endpoint, and what it lets through.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) user_id: String,
    pub(super) endpoint_id: String,
    pub(super) passage: Passage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// So many tries may begin.
    Open(i64),
    /// Its breaker is open until then.
    ClosedUntil(Timestamp),
    Disabled,
    /// It said 410: what is due is cancelled.
    Gone,
}

#[derive(sqlx::FromRow)]
struct EndpointState {
    user_id: String,
    endpoint_id: String,
    enabled: bool,
    disabled_reason: Option<String>,
    consecutive_failures: i32,
    open_until: Option<Timestamp>,
}

/// An endpoint with tries under way.
#[derive(sqlx::FromRow)]
struct Busy {
    #[sqlx(flatten)]
    state: EndpointState,
    under_way: i64,
}

/// Endpoints that are open and full already: a claim looks past them from its beginning, so that however many they are, and
/// however much waits for them, its pages are spent on those that take something. Read without locks: of one that has capacity
/// again a moment later the next claim takes, and what is let through is counted once more under the locks ([`gates`]).
/// What is read is bounded by what all processes have under way at once.
pub(super) async fn pass_full(
    connection: &mut PgConnection,
    policy: &DeliveryPolicy,
    now: Timestamp,
    passed: &mut Passed,
) -> Result<(), Error> {
    let busy: Vec<Busy> = query_as!("deliveries/busy_endpoints.sql", now).fetch_all(connection).await?;
    for gate in busy.into_iter().map(|busy| busy.state.gate(busy.under_way, policy, now)) {
        // What is due at a closed one is cleared away instead.
        if gate.passage == Passage::Open(0) {
            passed.add((&gate.user_id, &gate.endpoint_id));
        }
    }
    Ok(())
}

/// Locks the endpoints of `due` in key order and says what each lets through. `no key update` lets completions
/// go on announcing to them. The count is a statement of its own: only one that begins under the locks sees what
/// the locks' last holders committed.
pub(super) async fn gates(
    connection: &mut PgConnection,
    due: &[DueRow],
    policy: &DeliveryPolicy,
    now: Timestamp,
) -> Result<Vec<Gate>, Error> {
    let (users, endpoints): (Vec<&str>, Vec<&str>) = due.iter().map(DueRow::receiver).unzip();
    let locked: Vec<EndpointState> =
        query_as!("deliveries/lock_endpoints.sql", users, endpoints).fetch_all(&mut *connection).await?;
    let (users, endpoints): (Vec<&str>, Vec<&str>) =
        locked.iter().map(|state| (state.user_id.as_str(), state.endpoint_id.as_str())).unzip();
    let counts: Vec<UnderWay> =
        query_as!("deliveries/under_way.sql", users, endpoints, now).fetch_all(connection).await?;
    let under_way: HashMap<_, _> =
        counts.into_iter().map(|count| ((count.user_id, count.receiver_id), count.tries)).collect();
    let gate = |state: EndpointState| {
        let busy = under_way.get(&(state.user_id.clone(), state.endpoint_id.clone())).copied().unwrap_or(0);
        state.gate(busy, policy, now)
    };
    Ok(locked.into_iter().map(gate).collect())
}

/// How many tries may begin at each endpoint; those that are closed have no entry, as those that are locked by others.
pub(super) fn capacity(gates: &[Gate]) -> HashMap<(&str, &str), i64> {
    let open = gates.iter().filter_map(|gate| match gate.passage {
        Passage::Open(capacity) => Some(((gate.user_id.as_str(), gate.endpoint_id.as_str()), capacity)),
        _ => None,
    });
    open.collect()
}

impl EndpointState {
    /// What it lets through while `busy` tries are under way.
    fn gate(self, busy: i64, policy: &DeliveryPolicy, now: Timestamp) -> Gate {
        // One that would stay open for longer than a breaker does was opened before the database's clock was set back.
        let longest = now + span(policy.breaker_open) * 2;
        let passage = match self.open_until.filter(|open| *open > now && *open <= longest) {
            _ if !self.enabled && self.disabled_reason.as_deref() == Some("gone") => Passage::Gone,
            _ if !self.enabled => Passage::Disabled,
            Some(open) => Passage::ClosedUntil(open),
            // Half open: one try finds out whether the endpoint lives again.
            None if self.consecutive_failures >= policy.breaker_after => Passage::Open((1 - busy).max(0)),
            None => Passage::Open((policy.per_endpoint - busy).max(0)),
        };
        Gate { user_id: self.user_id, endpoint_id: self.endpoint_id, passage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_slots_by_breaker_and_busy_deliveries() {
        let now = Timestamp::UNIX_EPOCH;
        let later = now + chrono::TimeDelta::seconds(1);
        let in_an_hour = now + chrono::TimeDelta::hours(1);
        let policy = DeliveryPolicy::default();
        let failed = policy.breaker_after;
        for (disabled, failures, open_until, busy, passage) in [
            (None, 0, None, 0, Passage::Open(4)),
            (None, failed - 1, None, 1, Passage::Open(3)),
            (None, 0, None, 4, Passage::Open(0)),
            (None, 0, None, 9, Passage::Open(0)),
            (None, failed, Some(later), 0, Passage::ClosedUntil(later)),
            (None, failed, Some(now), 0, Passage::Open(1)),
            (None, failed, Some(in_an_hour), 0, Passage::Open(1)),
            (None, failed, None, 1, Passage::Open(0)),
            (Some("by_owner"), 0, None, 0, Passage::Disabled),
            (Some("failing"), failed, Some(later), 0, Passage::Disabled),
            (Some("gone"), 0, None, 0, Passage::Gone),
        ] {
            let state = EndpointState {
                user_id: "u".into(),
                endpoint_id: "e".into(),
                enabled: disabled.is_none(),
                disabled_reason: disabled.map(str::to_owned),
                consecutive_failures: failures,
                open_until,
            };
            assert_eq!(state.gate(busy, &policy, now).passage, passage);
        }
    }
}
