//! The take of the `postgres` carrier that holds first: bells, decisions and claims in one transaction.

use std::{collections::HashMap, time::Instant};

use job::{Command, Generation, Policy, Queue, Refusal, Step, Timestamp, WorkerId, decide};
use sqlx::PgConnection;

use super::{
    Taken, answer,
    waiting::{self, BellRow, Found, ring_at},
};
use crate::{
    Ledger,
    effects::{Bell, Stumble, Written, after, until_stored},
    error::{Doing, Error},
    history::{self, Said},
    row::{self, Stored, jobs_stored},
};

const DOING: &str = "taking bells";

/// What becomes of the bells of one take.
#[derive(Default)]
pub(super) struct Verdicts {
    pub(super) delete: (Vec<String>, Vec<i64>),
    move_to: (Vec<String>, Vec<i64>, Vec<Timestamp>),
}

impl Verdicts {
    fn delete(&mut self, bell: &BellRow) {
        self.delete.0.push(bell.job_id.clone());
        self.delete.1.push(bell.ring);
    }

    fn move_to(&mut self, bell: &BellRow, at: Timestamp) {
        self.move_to.0.push(bell.job_id.clone());
        self.move_to.1.push(bell.ring);
        self.move_to.2.push(at);
    }
}

/// How long a bell is put off whose job cannot be read, decided or stored.
const PUT_OFF: chrono::Duration = chrono::Duration::minutes(5);

/// One take, while it decides; nothing is written before all bells are answered.
pub(super) struct Take<'a> {
    worker: &'a WorkerId,
    pub(super) now: Timestamp,
    pub(super) policy: &'a Policy,
    bell: Bell,
    /// (before, after, step), in the order of the bells.
    granted: Vec<(Stored, Stored, Step)>,
    answers: Vec<&'static str>,
    pub(super) verdicts: Verdicts,
}

impl<'a> Take<'a> {
    pub(super) fn begin(worker: &'a WorkerId, now: Timestamp, policy: &'a Policy, bell: Bell) -> Self {
        let (granted, answers, verdicts) = (Vec::new(), Vec::new(), Verdicts::default());
        Self { worker, now, policy, bell, granted, answers, verdicts }
    }

    /// Answers one bell on its job as it stands, earlier bells of this take included.
    pub(super) fn answer(&mut self, waiting: &BellRow, jobs: &mut HashMap<String, Found>) {
        let stored = match jobs.get(&waiting.job_id) {
            None => {
                self.answers.push("missing");
                return self.verdicts.delete(waiting);
            }
            Some(Found::Locked) => return,
            Some(Found::Unreadable) => {
                tracing::error!(job_id = waiting.job_id, "a job cannot be read; its bell is put off");
                self.answers.push("error");
                return self.verdicts.move_to(waiting, self.now + PUT_OFF);
            }
            Some(Found::Read(stored)) => stored.as_ref().clone(),
        };
        let claim = Command::Claim {
            generation: Generation(waiting.dispatch_generation),
            worker: self.worker.clone(),
            keys: false,
        };
        let said = Said { verb: history::verb(&claim), stages: &[] };
        match decide(&stored.job, claim, self.now, self.policy) {
            Ok(step) => {
                let granted = after(&stored, &step, self.bell, self.now, said);
                jobs.insert(waiting.job_id.clone(), Found::Read(Box::new(granted.clone())));
                self.granted.push((stored, granted, step));
                self.verdicts.delete(waiting);
            }
            Err(refusal) => {
                self.answers.push(answer(refusal, &stored.job.state));
                match refusal {
                    Refusal::NotYet { until } => self.verdicts.move_to(waiting, until),
                    _ => self.verdicts.delete(waiting),
                }
            }
        }
    }

    /// Whether each bell led to a claim, and nothing is to be written with the claims.
    pub(super) fn is_plain(&self) -> bool {
        self.answers.is_empty() && self.granted.iter().all(|(_, _, step)| step.effects.is_empty())
    }

    /// The jobs of the claims, as they are to be stored.
    pub(super) fn claims(&self) -> impl Iterator<Item = &Stored> {
        self.granted.iter().map(|(_, after, _)| after)
    }

    /// What this take came to; of the claims, those `stored`.
    pub(super) fn taken(self, stored: impl Fn(&Stored) -> bool) -> Taken {
        let mut taken = Taken { answers: self.answers, ..Taken::default() };
        for (_, stored, step) in self.granted.into_iter().filter(|(_, after, _)| stored(after)) {
            taken.granted(Written { stored, effects: step.effects, told: 0 });
        }
        taken
    }
}

impl Ledger {
    /// `first` is told which bell came first, also when the take fails.
    pub(super) async fn take_bells(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
        first: &mut Option<BellRow>,
    ) -> Result<Taken, Error> {
        let limit = i64::from(slots);
        until_stored!(self, "taking bells", |bell| self.try_take(queue, worker, limit, bell, first))
    }

    async fn try_take(
        &self,
        queue: Queue,
        worker: &WorkerId,
        limit: i64,
        bell: Bell,
        first: &mut Option<BellRow>,
    ) -> Result<Taken, Stumble> {
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let mut transaction = session.begin(DOING).await?;
        match self.take_within(&mut transaction, queue, worker, limit, bell, first).await {
            Ok((taken, told)) => {
                transaction.commit().await.doing(DOING)?;
                session.keep();
                if told > 0 {
                    self.waker.deliveries_written();
                }
                Ok(taken)
            }
            Err(stumble) => {
                // Told to end, and not left to the driver: whoever tries next, or puts the bell off, passes locked ones by.
                // Where even this fails the connection is gone, and its locks with it.
                let _ = transaction.rollback().await;
                Err(stumble)
            }
        }
    }

    /// Takes inside of the caller's transaction; answers also how many deliveries were written.
    async fn take_within(
        &self,
        connection: &mut PgConnection,
        queue: Queue,
        worker: &WorkerId,
        limit: i64,
        bell: Bell,
        first: &mut Option<BellRow>,
    ) -> Result<(Taken, u64), Stumble> {
        let look = self.heads.begin(queue, Instant::now());
        let (bells, mut jobs) = waiting::hold(connection, queue, look.from.as_ref(), limit).await?;
        *first = bells.first().cloned();
        let Some(now) = bells.first().map(|bell| bell.now) else { return Ok((Taken::default(), 0)) };
        self.heads.hear(queue, &look, bells.first(), now);
        let mut take = Take::begin(worker, now, &self.policy, bell);
        for waiting in &bells {
            take.answer(waiting, &mut jobs);
        }
        let written = row::written(take.claims(), now, &self.policy);
        let kept = settle(connection, written, &take.verdicts).await.doing("storing claims")?;
        if kept < take.granted.len() {
            return Err(Stumble::Lost);
        }
        let mut told = 0;
        for (before, after, step) in take.granted.iter().filter(|(_, _, step)| !step.effects.is_empty()) {
            told += self.write_effects(connection, before, after, step, now, bell).await?;
        }
        Ok((take.taken(|_| true), told))
    }

    /// Puts off the very bell that could not be taken. One that somebody else holds is theirs to answer by now, and one
    /// that was moved meanwhile was answered.
    pub(super) async fn put_off_bell(&self, bell: &BellRow) -> Result<(), Error> {
        let put_off = sqlx::query(
            "update finalization_bells set ring_at = clock_timestamp() + interval '5 minutes' \
             where (job_id, ring) in (select job_id, ring from finalization_bells \
                 where job_id = $1 and ring = $2 and ring_at <= statement_timestamp() for update skip locked)",
        )
        .bind(&bell.job_id)
        .bind(bell.ring)
        .execute(&self.pool)
        .await
        .doing("putting a bell off")?;
        if put_off.rows_affected() > 0 {
            tracing::error!(job_id = bell.job_id, "a job cannot be stored; its bell is put off");
        }
        Ok(())
    }

    /// (now, when the next bell of `queue` is due), if one waits: how long an empty-handed taker may sleep at most. In
    /// `inline` mode the job table itself is asked. A paused queue rings for nobody.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn next_ring_at(&self, queue: Queue) -> Result<Option<(Timestamp, Timestamp)>, Error> {
        let next = match self.bells {
            true => sqlx::query_as(concat!(
                "select clock_timestamp(), ",
                ring_at!(),
                " from finalization_bells b where queue = $1 \
                     and not exists (select from queue_pauses where queue = $1) order by b.ring_at limit 1",
            ))
            .bind(queue.as_str()),
            false => sqlx::query_as(
                "select clock_timestamp(), ready_at from finalization_jobs \
                 where queue = $1 and status = 'queued' and job_id <> all($2) \
                     and not exists (select from queue_pauses where queue = $1) order by ready_at limit 1",
            )
            .bind(queue.as_str())
            .bind(self.passed_by.at(Instant::now())),
        };
        next.fetch_optional(&self.pool).await.doing("looking for the next bell")
    }
}

/// Stores the claims, deletes the bells that led to an answer and moves those that rang too early, in one statement.
/// Answers how many claims were stored.
async fn settle(
    connection: &mut PgConnection,
    claims: row::Written,
    verdicts: &Verdicts,
) -> Result<usize, sqlx::Error> {
    let stored = sqlx::query(concat!(
        "with stored as (",
        jobs_stored!(),
        "), gone as (delete from finalization_bells b using unnest($3::text[], $4::bigint[]) t (job_id, ring) \
             where b.job_id = t.job_id and b.ring = t.ring), \
         moved as (update finalization_bells b set ring_at = t.ring_at \
             from unnest($5::text[], $6::bigint[], $7::timestamptz[]) t (job_id, ring, ring_at) \
             where b.job_id = t.job_id and b.ring = t.ring) \
         select job_id from stored",
    ))
    .bind(claims)
    .bind(history::KEPT)
    .bind(&verdicts.delete.0)
    .bind(&verdicts.delete.1)
    .bind(&verdicts.move_to.0)
    .bind(&verdicts.move_to.1)
    .bind(&verdicts.move_to.2)
    .fetch_all(connection)
    .await?;
    Ok(stored.len())
}
