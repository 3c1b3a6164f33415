//! A take that fails as a whole is repeated one job at a time, so that one bad row stops nobody.

use std::time::{Duration, Instant};

use super::Taken;
use crate::{deadline::ANSWER, error::Error};

/// How long further ones are begun once something is claimed, and how long they may take then: nobody renews what is claimed
/// before it is handed over.
const BEGINNING: Duration = Duration::from_secs(3);
const ENDING: Duration = Duration::from_secs(6);

/// What came of the takes of one job each so far.
pub(super) struct OneByOne {
    taken: Taken,
    /// How many more slots there are to fill.
    left: u32,
    /// Why there is no further one.
    broken: Option<Error>,
    begun: Instant,
}

impl OneByOne {
    pub(super) fn begin(slots: u32) -> Self {
        Self { taken: Taken::default(), left: slots, broken: None, begun: Instant::now() }
    }

    /// Whether one more is to be taken.
    pub(super) fn goes_on(&self) -> bool {
        let has_time = self.taken.claims.is_empty() || self.begun.elapsed() < BEGINNING;
        self.left > 0 && self.broken.is_none() && has_time
    }

    /// How long the next step is waited for.
    pub(super) fn patience(&self) -> Duration {
        match self.taken.claims.is_empty() {
            true => ANSWER,
            false => ENDING.saturating_sub(self.begun.elapsed()),
        }
    }

    /// Adds what one take came to. `true`: what it met cannot be taken and is to be put off.
    pub(super) fn add(&mut self, take: Result<Taken, Error>) -> bool {
        self.left -= 1;
        match take {
            Ok(one) if one.answers.is_empty() => self.left = 0,
            Ok(one) => self.taken.add(one),
            Err(Error::Refused { .. } | Error::Contended { .. }) => {
                self.taken.answers.push("error");
                return true;
            }
            Err(error) => self.broken = Some(error),
        }
        false
    }

    /// Hears whether what could not be taken was put off. What refuses to be stored may refuse this as well: the others are
    /// taken all the same.
    pub(super) fn put_off(&mut self, done: Result<(), Error>) {
        self.broken = done.err().filter(|error| !matches!(error, Error::Refused { .. }));
    }

    /// What was taken. What is claimed is run, whatever broke behind it.
    ///
    /// # Errors
    /// When the database does not answer; nothing was then claimed.
    pub(super) fn end(self) -> Result<Taken, Error> {
        match self.broken {
            Some(error) if self.taken.claims.is_empty() => Err(error),
            _ => Ok(self.taken),
        }
    }
}
