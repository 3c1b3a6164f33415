//! Fairness: how many tries an endpoint may still begin, counted exactly and across processes, and how much of the sending process
//! a user may hold.

use std::collections::{HashMap, HashSet};

use db::Error;
use records::Timestamp;
use sqlx::PgConnection;

use super::DeliveryPolicy;

/// A row that may be taken.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(super) struct Due {
    pub(super) user_id: String,
    pub(super) endpoint_id: String,
    pub(super) delivery_id: String,
}

impl Due {
    fn endpoint(&self) -> (&str, &str) {
        (&self.user_id, &self.endpoint_id)
    }
}

/// A locked endpoint, and what it lets through.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) user_id: String,
    pub(super) endpoint_id: String,
    pub(super) passage: Passage,
}

/// What an endpoint lets through now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// So many tries may begin.
    Open(i64),
    /// Its breaker is open until then.
    ClosedUntil(Timestamp),
    /// It waits for its owner to enable it.
    Disabled,
    /// It said 410: what is due is cancelled.
    Gone,
}

/// Endpoints and users that this claim looks past from now on.
#[derive(Debug, Default)]
pub(super) struct Passed {
    endpoints: HashSet<(String, String)>,
    users: HashSet<String>,
}

impl Passed {
    /// (user ids, endpoint ids), for `unnest`.
    pub(super) fn columns(&self) -> (Vec<&str>, Vec<&str>) {
        self.endpoints.iter().map(|(user, endpoint)| (user.as_str(), endpoint.as_str())).unzip()
    }

    /// Users with all their endpoints.
    pub(super) fn users(&self) -> Vec<&str> {
        self.users.iter().map(String::as_str).collect()
    }

    /// Looks past the users who have their share already.
    pub(super) fn add_full_users(&mut self, share: &SenderLoad) {
        let full = share.users.keys().filter(|user| !share.admits(user));
        self.users.extend(full.cloned());
    }

    fn add(&mut self, (user, endpoint): (&str, &str)) {
        self.endpoints.insert((user.to_owned(), endpoint.to_owned()));
    }
}

/// What the claiming process has under way. A user may have no more of it than is free: one user alone comes to half, and of `n`
/// users who want all of it each comes to one part of `n + 1`, so that a part is left for a user who comes next.
#[derive(Clone, Debug, Default)]
pub struct SenderLoad {
    /// Slots for young tries that are free.
    pub free: usize,
    /// Tries that may begin before the process has as many under way as it can have, old ones included.
    pub free_in_all: usize,
    /// (young tries, all tries) under way, by user.
    pub users: HashMap<String, (usize, usize)>,
}

impl SenderLoad {
    fn admits(&self, user: &str) -> bool {
        let (young, all) = self.users.get(user).copied().unwrap_or_default();
        young < self.free && all < self.free_in_all
    }

    fn begin(&mut self, user: &str) {
        let (young, all) = self.users.entry(user.to_owned()).or_default();
        (*young, *all) = (*young + 1, *all + 1);
        (self.free, self.free_in_all) = (self.free.saturating_sub(1), self.free_in_all.saturating_sub(1));
    }
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
pub(super) async fn full(
    connection: &mut PgConnection,
    policy: &DeliveryPolicy,
    now: Timestamp,
) -> Result<Passed, Error> {
    let busy: Vec<Busy> = sqlx::query_as(include_str!("../../sql/deliveries/busy_endpoints.sql"))
        .bind(now)
        .fetch_all(connection)
        .await?;
    let mut passed = Passed::default();
    for gate in busy.into_iter().map(|busy| busy.state.gate(busy.under_way, policy, now)) {
        // What is due at a closed one is cleared away instead.
        if gate.passage == Passage::Open(0) {
            passed.add((&gate.user_id, &gate.endpoint_id));
        }
    }
    Ok(passed)
}

/// Locks the endpoints of `due` in key order and says what each lets through. `no key update` lets completions
/// go on announcing to them. The count is a statement of its own: only one that begins under the locks sees what
/// the locks' last holders committed.
pub(super) async fn gates(
    connection: &mut PgConnection,
    due: &[Due],
    policy: &DeliveryPolicy,
    now: Timestamp,
) -> Result<Vec<Gate>, Error> {
    let (users, endpoints): (Vec<&str>, Vec<&str>) = due.iter().map(Due::endpoint).unzip();
    let locked: Vec<EndpointState> = sqlx::query_as(include_str!("../../sql/deliveries/lock_endpoints.sql"))
        .bind(users)
        .bind(endpoints)
        .fetch_all(&mut *connection)
        .await?;
    let (users, endpoints): (Vec<&str>, Vec<&str>) =
        locked.iter().map(|state| (state.user_id.as_str(), state.endpoint_id.as_str())).unzip();
    let counts: Vec<(String, String, i64)> =
        sqlx::query_as(include_str!("../../sql/deliveries/under_way.sql"))
            .bind(users)
            .bind(endpoints)
            .bind(now)
            .fetch_all(connection)
            .await?;
    let under_way: HashMap<_, _> =
        counts.into_iter().map(|(user, endpoint, count)| ((user, endpoint), count)).collect();
    let gate = |state: EndpointState| {
        let busy = under_way.get(&(state.user_id.clone(), state.endpoint_id.clone())).copied().unwrap_or(0);
        state.gate(busy, policy, now)
    };
    Ok(locked.into_iter().map(gate).collect())
}

impl EndpointState {
    /// What it lets through while `busy` tries are under way.
    fn gate(self, busy: i64, policy: &DeliveryPolicy, now: Timestamp) -> Gate {
        let passage = match self.open_until.filter(|open| *open > now) {
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

/// Deals at most `wanted` due rows, in their order, to the gates that have capacity, of users who have not their share already.
/// Endpoints that are locked by others, closed, or full afterwards are skipped from now on, and so are users who have their share.
/// Without a load, users have no shares.
pub(super) fn deal<'a>(
    due: &'a [Due],
    gates: &[Gate],
    wanted: i64,
    share: &mut Option<SenderLoad>,
    passed: &mut Passed,
) -> Vec<&'a Due> {
    let mut capacity: HashMap<(&str, &str), i64> = gates
        .iter()
        .filter_map(|gate| match gate.passage {
            Passage::Open(capacity) => Some(((gate.user_id.as_str(), gate.endpoint_id.as_str()), capacity)),
            _ => None,
        })
        .collect();
    let mut dealt = Vec::new();
    for row in due {
        if share.as_ref().is_some_and(|share| !share.admits(&row.user_id)) {
            passed.users.insert(row.user_id.clone());
            continue;
        }
        match capacity.get_mut(&row.endpoint()).filter(|capacity| **capacity > 0) {
            Some(capacity) if i64::try_from(dealt.len()).is_ok_and(|taken| taken < wanted) => {
                *capacity -= 1;
                if let Some(share) = share {
                    share.begin(&row.user_id);
                }
                dealt.push(row);
            }
            Some(_) => break,
            None => passed.add(row.endpoint()),
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(endpoint: &str, delivery: usize) -> Due {
        Due { user_id: "u".into(), endpoint_id: endpoint.into(), delivery_id: delivery.to_string() }
    }

    fn gate(endpoint: &str, capacity: i64) -> Gate {
        Gate { user_id: "u".into(), endpoint_id: endpoint.into(), passage: Passage::Open(capacity) }
    }

    #[test]
    fn endpoint_slots_by_breaker_and_busy_deliveries() {
        let now = Timestamp::UNIX_EPOCH;
        let later = now + chrono::TimeDelta::seconds(1);
        let policy = DeliveryPolicy::default();
        let failed = policy.breaker_after;
        for (disabled, failures, open_until, busy, passage) in [
            (None, 0, None, 0, Passage::Open(4)),
            (None, failed - 1, None, 1, Passage::Open(3)),
            (None, 0, None, 4, Passage::Open(0)),
            (None, 0, None, 9, Passage::Open(0)),
            (None, failed, Some(later), 0, Passage::ClosedUntil(later)),
            (None, failed, Some(now), 0, Passage::Open(1)),
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

    #[test]
    fn fair_claims_skip_a_full_endpoint_and_keep_order() {
        let rows: Vec<Due> =
            (0..4).map(|n| due("full", n)).chain([due("free", 4), due("locked", 5)]).collect();
        let mut passed = Passed::default();
        let dealt = deal(&rows, &[gate("full", 2), gate("free", 4)], 10, &mut None, &mut passed);
        let ids: Vec<_> = dealt.iter().map(|due| due.delivery_id.as_str()).collect();
        assert_eq!(ids, ["0", "1", "4"]);
        let mut endpoints = passed.columns().1;
        endpoints.sort_unstable();
        assert_eq!(endpoints, ["full", "locked"]);
    }

    /// How many of 16 slots each user gets when all have a hundred endpoints with a row each, in this order.
    fn shared(users: &[&str], load: SenderLoad) -> Vec<usize> {
        let row = |user: &&str, n: usize| Due {
            user_id: (*user).into(),
            endpoint_id: n.to_string(),
            delivery_id: String::new(),
        };
        let rows: Vec<Due> = users.iter().flat_map(|user| (0..100).map(move |n| row(user, n))).collect();
        let gates: Vec<Gate> = rows
            .iter()
            .map(|row| Gate { user_id: row.user_id.clone(), ..gate(&row.endpoint_id, 4) })
            .collect();
        let (mut share, mut passed) = (Some(load), Passed::default());
        let dealt = deal(&rows, &gates, 16, &mut share, &mut passed);
        let of = |user: &&str| dealt.iter().filter(|row| row.user_id == **user).count();
        users.iter().map(of).collect()
    }

    #[test]
    fn fair_claims_give_one_user_at_most_half_of_the_slots() {
        let idle = || SenderLoad { free: 16, free_in_all: 256, users: HashMap::new() };
        assert_eq!(shared(&["a"], idle()), [8]);
        assert_eq!(shared(&["a", "b", "c", "d", "e"], idle()), [8, 4, 2, 1, 1]);
        let users = HashMap::from([("a".to_owned(), (3, 3)), ("b".to_owned(), (3, 3))]);
        assert_eq!(shared(&["a", "b", "c"], SenderLoad { free: 4, free_in_all: 250, users }), [1, 0, 2]);
    }

    #[test]
    fn fair_claims_stop_for_a_user_whose_slow_receivers_hold_the_rest() {
        let users = HashMap::from([("slow".to_owned(), (0, 100))]);
        assert_eq!(shared(&["slow", "b"], SenderLoad { free: 16, free_in_all: 100, users }), [0, 8]);
    }

    #[test]
    fn fair_claims_never_exceed_the_limit() {
        let rows: Vec<Due> = (0..4).map(|n| due("free", n)).collect();
        let mut passed = Passed::default();
        assert_eq!(deal(&rows, &[gate("free", 4)], 3, &mut None, &mut passed).len(), 3);
        assert!(passed.columns().0.is_empty(), "an endpoint with capacity left is not passed by");
    }
}
