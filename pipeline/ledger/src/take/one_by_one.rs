//! A take that fails as a whole is repeated one job at a time, so that one bad row stops nobody.

use std::time::{Duration, Instant};

use job::{Queue, WorkerId};

use super::{Taken, inline::Row, waiting::BellRow};
use crate::{Ledger, deadline::ANSWER, error::Error};

/// How long further ones are begun once something is claimed, and how long they may take then: nobody renews what is claimed
/// before it is handed over.
const BEGINNING: Duration = Duration::from_secs(3);
const ENDING: Duration = Duration::from_secs(6);

/// What a take met first, by its carrier.
pub(super) enum Met {
    Bell(BellRow),
    Row(Row),
}

impl Ledger {
    pub(super) async fn take_one_by_one(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
    ) -> Result<Taken, Error> {
        let mut taken = OneByOne::begin(slots);
        while taken.goes_on() {
            let mut met = None;
            // The one that cannot be taken may stand before those that were seen last.
            self.heads.forget(queue);
            let one = self.take_at_once(queue, worker, 1, &mut met);
            if let Some(bad) = taken.add(self.within(taken.patience(), one).await, met) {
                taken.put_off(self.within(taken.patience(), self.put_off_met(bad)).await);
            }
        }
        taken.end()
    }

    /// `met` is told what came first, also when the take fails.
    pub(super) async fn take_at_once(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
        met: &mut Option<Met>,
    ) -> Result<Taken, Error> {
        if self.bells {
            let mut bell = None;
            let taken = self.take_bells(queue, worker, slots, &mut bell).await;
            *met = bell.map(Met::Bell);
            taken
        } else {
            let mut row = None;
            let taken = self.take_rows(queue, worker, slots, &mut row).await;
            *met = row.map(Met::Row);
            taken
        }
    }

    async fn put_off_met(&self, met: Met) -> Result<(), Error> {
        match met {
            Met::Bell(bell) => self.put_off_bell(&bell).await,
            Met::Row(row) => self.put_off_row(row).await,
        }
    }
}

/// What came of the takes of one job each so far.
struct OneByOne {
    taken: Taken,
    /// Whether anything was answered or put off for good: what is committed is told, whatever breaks behind it.
    answered: bool,
    /// How many more slots there are to fill.
    left: u32,
    /// Why there is no further one.
    broken: Option<Error>,
    begun: Instant,
}

impl OneByOne {
    fn begin(slots: u32) -> Self {
        Self { taken: Taken::default(), answered: false, left: slots, broken: None, begun: Instant::now() }
    }

    /// Whether one more is to be taken.
    fn goes_on(&self) -> bool {
        let has_time = self.taken.claims.is_empty() || self.begun.elapsed() < BEGINNING;
        self.left > 0 && self.broken.is_none() && has_time
    }

    /// How long the next step is waited for.
    fn patience(&self) -> Duration {
        match self.taken.claims.is_empty() {
            true => ANSWER,
            false => ENDING.saturating_sub(self.begun.elapsed()),
        }
    }

    /// Adds what one take came to. Answers what it `met`, when that cannot be taken and is to be put off.
    fn add(&mut self, take: Result<Taken, Error>, met: Option<Met>) -> Option<Met> {
        self.left -= 1;
        match take {
            Ok(one) if one.answers.is_empty() => self.left = 0,
            Ok(one) => {
                self.answered = true;
                self.taken.add(one);
            }
            Err(Error::Refused { .. } | Error::Contended { .. }) if met.is_some() => {
                self.taken.answers.push("error");
                return met;
            }
            Err(error) => self.broken = Some(error),
        }
        None
    }

    /// Hears whether what could not be taken was put off. What refuses to be stored may refuse this as well: the others are
    /// taken all the same.
    fn put_off(&mut self, done: Result<(), Error>) {
        match done {
            Ok(()) => self.answered = true,
            Err(Error::Refused { .. }) => {}
            Err(error) => self.broken = Some(error),
        }
    }

    /// What was taken. What is claimed is run and what was counted is told, whatever broke behind it.
    ///
    /// # Errors
    /// When the database does not answer; nothing was then answered.
    fn end(self) -> Result<Taken, Error> {
        match self.broken {
            Some(error) if !self.answered => Err(error),
            _ => Ok(self.taken),
        }
    }
}

#[cfg(test)]
mod tests {
    use job::{Admission, Job, JobId, Origin, Timestamp};
    use records::{ConversationId, UserId};

    use super::*;
    use crate::Claimed;

    /// One that began so long ago and has room for more; with a claim or without.
    fn begun(ago: u64, has_claim: bool) -> OneByOne {
        let mut one_by_one = OneByOne::begin(8);
        one_by_one.begun = Instant::now().checked_sub(Duration::from_secs(ago)).unwrap_or(one_by_one.begun);
        one_by_one.taken.claims.extend(has_claim.then(claimed));
        one_by_one
    }

    fn claimed() -> Claimed {
        let (user_id, conversation_id) = (UserId::new("ann"), ConversationId::new("c"));
        let id = JobId::derive("ann", "c", 1);
        let admission = Admission { id, origin: Origin::Create, force_process: false, requires_keys: false };
        let job = Job::admit(admission, Timestamp::UNIX_EPOCH).job;
        Claimed { user_id, conversation_id, revision: 1, job, trace: None }
    }

    #[test]
    fn what_is_claimed_is_not_kept_waiting_for_what_is_not() {
        let late = begun(4, true);
        assert!(!late.goes_on());
        assert!(late.patience() <= Duration::from_secs(2));
        assert_eq!(begun(7, true).patience(), Duration::ZERO);
    }

    #[test]
    fn what_one_after_the_other_came_to_is_added_up_until_one_comes_to_nothing() {
        let mut one_by_one = begun(0, false);
        for (dead_letters, retries) in [(1, 0), (1, 2), (0, 3)] {
            let one = Taken { answers: vec!["told"], dead_letters, retries, ..Taken::default() };
            assert!(one_by_one.add(Ok(one), None).is_none());
            assert!(one_by_one.goes_on());
        }
        assert!(one_by_one.add(Ok(Taken::default()), None).is_none());
        assert!(!one_by_one.goes_on());
        let all = one_by_one.end().map(|all| (all.answers.len(), all.dead_letters, all.retries));
        assert!(matches!(all, Ok((3, 2, 5))), "{all:?}");
    }

    #[test]
    fn where_nothing_is_claimed_there_is_time() {
        let late = begun(7, false);
        assert!(late.goes_on());
        assert_eq!(late.patience(), ANSWER);
    }
}
