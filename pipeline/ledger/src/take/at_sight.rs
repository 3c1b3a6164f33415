//! A take where the last one had room for all: a look that holds nothing, and one statement, its own commit, that holds what
//! was seen, compares it and stores the claims. Two round trips where a transaction has four, and whoever stops between them
//! holds nobody up. Whatever there is to answer but claims is left to the take that holds first, and so is a crowd.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use job::{Queue, WorkerId};
use sqlx::{Connection, PgConnection};

use super::{
    Taken,
    bells::Take,
    waiting::{self, Found},
};
use crate::{
    Ledger,
    effects::Bell,
    error::{Doing, Error},
    history,
    row::{self, jobs_stored},
};

const DOING: &str = "taking bells at sight";

/// What a look came to.
enum Sight {
    /// All that there was to be answered, or as much of it as nobody else was faster to take.
    Taken(Taken),
    /// Others were faster with everything.
    Late,
    /// There is more to do than to store claims: bells are to be held first.
    HoldFirst,
}

impl Ledger {
    /// `None`: nothing was taken, and bells are to be held first.
    pub(super) async fn take_at_sight(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
    ) -> Result<Option<Taken>, Error> {
        if !self.bells || self.heads.is_crowded(queue) {
            return Ok(None);
        }
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let sight = match self.look_and_claim(&mut session, queue, worker, slots).await {
            Ok(sight) => sight,
            // Whoever holds first finds which one is refused, and passes by what is locked: as long as the server has not said
            // that it is ready again, this may be locked here.
            Err(Error::Refused { .. } | Error::Contended { .. }) => {
                session.ping().await.doing(DOING)?;
                session.keep();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        session.keep();
        let is_late_again = self.heads.late(queue, matches!(sight, Sight::Late));
        Ok(match sight {
            Sight::Taken(taken) => Some(taken),
            // They are about to commit, or somebody holds a job for long: this is no matter of haste.
            Sight::Late if !is_late_again => {
                Some(Taken { quiet_for: Some(Duration::ZERO), ..Taken::default() })
            }
            Sight::Late | Sight::HoldFirst => None,
        })
    }

    async fn look_and_claim(
        &self,
        connection: &mut PgConnection,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
    ) -> Result<Sight, Error> {
        let look = self.heads.begin(queue, Instant::now());
        // One more than there is room for: whether there is more.
        let mut seen = waiting::see(connection, queue, look.from.as_ref(), i64::from(slots) + 1).await?;
        let behind = self.heads.hear(queue, &look, seen.bells.first(), seen.now);
        let has_room = seen.bells.len() <= slots as usize;
        self.heads.crowd(queue, !has_room);
        seen.bells.truncate(slots as usize);
        let quiet_for = seen.quiet_for.min(behind);
        if seen.bells.is_empty() {
            return Ok(Sight::Taken(Taken { quiet_for: Some(quiet_for), ..Taken::default() }));
        }
        if seen.jobs.values().any(|found| matches!(found, Found::Unreadable)) {
            return Ok(Sight::HoldFirst);
        }
        let mut take = Take::begin(worker, seen.now, &self.policy, Bell::Write);
        for bell in &seen.bells {
            take.answer(bell, &mut seen.jobs);
        }
        if !take.is_plain() {
            return Ok(Sight::HoldFirst);
        }
        let claimed = claim(connection, queue, &take).await?;
        if claimed.is_empty() {
            return Ok(Sight::Late);
        }
        // Where somebody was faster, more may be due behind what they took.
        let is_all = claimed.len() == seen.bells.len() && has_room;
        Ok(Sight::Taken(Taken {
            quiet_for: is_all.then_some(quiet_for),
            ..take.taken(|stored| claimed.contains(stored.job.id.as_str()))
        }))
    }
}

/// Stores the claims of those bells that are due as they were seen, whose jobs are as they were seen, and neither of which
/// anybody holds; their bells go. Answers the ids of their jobs. What was seen a second ago or earlier is not relied on: leases
/// count from the look.
async fn claim(
    connection: &mut PgConnection,
    queue: Queue,
    take: &Take<'_>,
) -> Result<HashSet<String>, Error> {
    let (jobs, rings) = &take.verdicts.delete;
    let claimed = sqlx::query_scalar(concat!(
        "with held as materialized (select b.job_id, b.ring from unnest($3::text[], $4::bigint[]) t (job_id, ring) \
             join finalization_bells b on b.job_id = t.job_id and b.ring = t.ring \
             join finalization_jobs j on j.job_id = t.job_id \
             where b.ring_at <= statement_timestamp() and statement_timestamp() < $5 + interval '1 second' \
                 and not exists (select from queue_pauses where queue = $6) \
             for update of b skip locked for no key update of j skip locked), \
         stored as (",
        jobs_stored!("and j.job_id = any(array(select job_id from held)) "),
        "), gone as (delete from finalization_bells b using held h \
             where b.job_id = h.job_id and b.ring = h.ring and h.job_id in (select job_id from stored)) \
         select job_id from stored",
    ))
    .bind(row::written(take.claims(), take.now, take.policy))
    .bind(history::KEPT)
    .bind(jobs)
    .bind(rings)
    .bind(take.now)
    .bind(queue.as_str())
    .fetch_all(connection)
    .await
    .doing(DOING)?;
    Ok(claimed.into_iter().collect())
}
