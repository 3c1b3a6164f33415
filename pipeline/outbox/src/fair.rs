//! Fairness of what is sent, deliveries and pushes alike: how many tries a receiver may have under way, how much of the sending
//! process a user may hold, and that users take turns where many want all of it.

use std::collections::{HashMap, HashSet};

/// How many times one claim looks past receivers and users that can take no more.
pub(crate) const ROUNDS: usize = 8;

/// A due row, by its key.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct DueRow {
    pub(crate) user_id: String,
    /// Its endpoint or subscription.
    pub(crate) receiver_id: String,
    pub(crate) delivery_id: String,
}

impl DueRow {
    /// Its user, and its endpoint or subscription.
    pub(crate) fn receiver(&self) -> (&str, &str) {
        (&self.user_id, &self.receiver_id)
    }

    /// Keys in columns, for `unnest`.
    pub(crate) fn columns<'a>(rows: impl Iterator<Item = &'a Self> + Clone) -> [Vec<&'a str>; 3] {
        let of = |field: fn(&Self) -> &str| rows.clone().map(field).collect();
        [of(|row| &row.user_id), of(|row| &row.receiver_id), of(|row| &row.delivery_id)]
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
    /// Users who had their turn: those who had none come first. Where more users want slots than there are, no part is left for
    /// one who comes next, and a backlog would be sent to its end before.
    pub had_turn: HashSet<String>,
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

/// Receivers and users that a claim looks past.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    receivers: HashSet<(String, String)>,
    users: HashSet<String>,
    /// Users who are looked past until those without a turn have had theirs.
    had_turn: HashSet<String>,
}

impl Passed {
    /// Looks past the users who have their share, and first past those who had their turn.
    pub(crate) fn of(load: Option<&SenderLoad>) -> Self {
        let Some(load) = load else { return Self::default() };
        let users = load.users.keys().filter(|user| !load.admits(user)).cloned().collect();
        Self { users, had_turn: load.had_turn.clone(), ..Self::default() }
    }

    /// (user ids, ids of endpoints or subscriptions), for `unnest`.
    pub(crate) fn receivers(&self) -> (Vec<&str>, Vec<&str>) {
        self.receivers.iter().map(|(user, receiver)| (user.as_str(), receiver.as_str())).unzip()
    }

    /// Users with all their receivers.
    pub(crate) fn users(&self) -> Vec<&str> {
        self.users.union(&self.had_turn).map(String::as_str).collect()
    }

    /// Whether a receiver is looked past, itself or with its user.
    pub(crate) fn has(&self, (user, receiver): (&str, &str)) -> bool {
        self.users.contains(user)
            || self.had_turn.contains(user)
            || self.receivers.contains(&(user.to_owned(), receiver.to_owned()))
    }

    pub(crate) fn add(&mut self, (user, receiver): (&str, &str)) {
        self.receivers.insert((user.to_owned(), receiver.to_owned()));
    }

    /// Ends the turn: users who had theirs are claimed for again. `false`: there was none.
    pub(crate) fn begin_next_turn(&mut self) -> bool {
        !std::mem::take(&mut self.had_turn).is_empty()
    }
}

/// Deals at most `wanted` due rows, in their order, to the receivers that have capacity, of users who have not their share already.
/// Receivers without capacity, or full afterwards, are looked past from now on, and so are users who have their share. Without
/// a load, users have no shares.
pub(crate) fn deal<'a>(
    due: &'a [DueRow],
    mut capacity: HashMap<(&'a str, &'a str), i64>,
    wanted: i64,
    load: &mut Option<SenderLoad>,
    passed: &mut Passed,
) -> Vec<&'a DueRow> {
    let mut dealt = Vec::new();
    for row in due {
        let (user, _) = row.receiver();
        if load.as_ref().is_some_and(|load| !load.admits(user)) {
            passed.users.insert(user.to_owned());
            continue;
        }
        match capacity.get_mut(&row.receiver()).filter(|capacity| **capacity > 0) {
            Some(capacity) if i64::try_from(dealt.len()).is_ok_and(|taken| taken < wanted) => {
                *capacity -= 1;
                if let Some(load) = load {
                    load.begin(user);
                }
                dealt.push(row);
            }
            Some(_) => break,
            None => passed.add(row.receiver()),
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(user: &str, receiver: &str, id: usize) -> DueRow {
        DueRow { user_id: user.to_owned(), receiver_id: receiver.to_owned(), delivery_id: id.to_string() }
    }

    fn due(receiver: &str, id: usize) -> DueRow {
        row("u", receiver, id)
    }

    #[test]
    fn fair_claims_skip_a_full_receiver_and_keep_order() {
        let rows: Vec<DueRow> =
            (0..4).map(|n| due("full", n)).chain([due("free", 4), due("locked", 5)]).collect();
        let capacity = HashMap::from([(("u", "full"), 2), (("u", "free"), 4)]);
        let mut passed = Passed::default();
        let dealt = deal(&rows, capacity, 10, &mut None, &mut passed);
        assert_eq!(dealt.iter().map(|row| &*row.delivery_id).collect::<Vec<_>>(), ["0", "1", "4"]);
        let mut receivers = passed.receivers().1;
        receivers.sort_unstable();
        assert_eq!(receivers, ["full", "locked"]);
    }

    /// How many of 16 slots each user gets when all have a hundred receivers with a row each, in this order.
    fn shared(users: &[&'static str], load: SenderLoad) -> Vec<usize> {
        let rows: Vec<DueRow> =
            users.iter().flat_map(|user| (0..100).map(move |n| row(user, &n.to_string(), n))).collect();
        let capacity = rows.iter().map(|row| (row.receiver(), 4)).collect();
        let mut passed = Passed::of(Some(&load));
        let dealt = deal(&rows, capacity, 16, &mut Some(load), &mut passed);
        users.iter().map(|user| dealt.iter().filter(|row| row.user_id == *user).count()).collect()
    }

    #[test]
    fn fair_claims_give_one_user_at_most_half_of_the_slots() {
        let idle = || SenderLoad { free: 16, free_in_all: 256, ..SenderLoad::default() };
        assert_eq!(shared(&["a"], idle()), [8]);
        assert_eq!(shared(&["a", "b", "c", "d", "e"], idle()), [8, 4, 2, 1, 1]);
        let users = HashMap::from([("a".to_owned(), (3, 3)), ("b".to_owned(), (3, 3))]);
        let load = SenderLoad { free: 4, free_in_all: 250, users, ..SenderLoad::default() };
        assert_eq!(shared(&["a", "b", "c"], load), [1, 0, 2]);
    }

    #[test]
    fn fair_claims_stop_for_a_user_whose_slow_receivers_hold_the_rest() {
        let users = HashMap::from([("slow".to_owned(), (0, 100))]);
        let load = SenderLoad { free: 16, free_in_all: 100, users, ..SenderLoad::default() };
        assert_eq!(shared(&["slow", "b"], load), [0, 8]);
    }

    #[test]
    fn fair_claims_never_exceed_the_limit() {
        let rows: Vec<DueRow> = (0..4).map(|n| due("free", n)).collect();
        let mut passed = Passed::default();
        let capacity = HashMap::from([(("u", "free"), 4)]);
        assert_eq!(deal(&rows, capacity, 3, &mut None, &mut passed).len(), 3);
        assert!(passed.receivers().0.is_empty(), "one with capacity left is not looked past");
    }

    #[test]
    fn users_who_had_their_turn_are_looked_past_until_the_next_one_begins() {
        let users = HashMap::from([("full".to_owned(), (1, 1)), ("idle".to_owned(), (0, 1))]);
        let had_turn = HashSet::from(["full".to_owned(), "served".to_owned()]);
        let mut passed = Passed::of(Some(&SenderLoad { free: 1, free_in_all: 9, users, had_turn }));
        let sorted = |passed: &Passed| {
            let mut users = passed.users().into_iter().map(str::to_owned).collect::<Vec<_>>();
            users.sort_unstable();
            users
        };
        assert_eq!(sorted(&passed), ["full", "served"]);
        assert!(passed.begin_next_turn());
        assert_eq!(sorted(&passed), ["full"], "who has a share has it in every turn");
        assert!(!passed.begin_next_turn());
    }
}
