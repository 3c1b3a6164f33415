//! A take that fails as a whole is repeated one job at a time, so that one bad row stops nobody.

use std::time::{Duration, Instant};

use job::{Queue, WorkerId};

use super::Taken;
use crate::{Ledger, error::Error};

/// After this long no further job is taken. What was claimed first is not renewed before it is handed over, and with the
/// longest wait for an answer on top its lease must still stand.
const LONG_ENOUGH: Duration = Duration::from_secs(5);

impl Ledger {
    pub(super) async fn take_one_by_one(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
    ) -> Result<Taken, Error> {
        let (mut taken, began) = (Taken::default(), Instant::now());
        for _ in 0..slots {
            match self.in_time(self.take_next(queue, worker)).await {
                Ok(next) if next.answers.is_empty() => break,
                Ok(next) => taken.add(next),
                Err(error) if taken.claims.is_empty() => return Err(error),
                // Those that were claimed are leased to us by now, whatever befell the rest.
                Err(_) => break,
            }
            if began.elapsed() >= LONG_ENOUGH {
                break;
            }
        }
        Ok(taken)
    }

    async fn take_next(&self, queue: Queue, worker: &WorkerId) -> Result<Taken, Error> {
        match self.bells {
            true => self.take_next_bell(queue, worker).await,
            false => self.take_next_row(queue, worker).await,
        }
    }
}
