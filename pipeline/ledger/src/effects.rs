//! A verb on one job: decide, store by compare-and-set, and write what the decision wants written with it.

use std::collections::BTreeMap;

use job::{Command, Effect, Job, Refusal, State, Step, Timestamp, decide};
use records::{ConversationId, UserId};
use serde::Serialize;
use sqlx::{PgConnection, types::Json};
use trace::TraceContext;

use crate::{
    EventKind, Ledger,
    announce::{About, Told, announce},
    error::{Doing, Error},
    history::{self, Said},
    row::{self, Stored},
};

/// Whether a verb writes its bell, or goes on without it because the bell could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bell {
    /// Written in the deciding transaction.
    Write,
    /// Left out; the job is marked `unrung`, so that the reconciler looks at once.
    Skip,
}

/// Why one try of a verb did not commit.
#[derive(Debug)]
pub(crate) enum Stumble {
    /// The bell could not be written: once more without it.
    Bell(sqlx::Error),
    /// Somebody else stored in between: read again, decide again.
    Lost,
    /// The machine broke.
    Broken(Error),
}

impl From<Error> for Stumble {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

/// How often a verb reads again before it says `Contended`.
pub(crate) const TRIES: usize = 16;

/// Runs a verb's try until it commits: `$bell` is what the try is to do about its bell.
macro_rules! until_stored {
    ($ledger:expr, $doing:literal, |$bell:ident| $try:expr) => {{
        let mut $bell = $crate::effects::Bell::Write;
        let mut tries = 0;
        loop {
            match $try.await {
                Ok(done) => break Ok(done),
                Err($crate::effects::Stumble::Broken(error)) => break Err(error),
                Err($crate::effects::Stumble::Bell(error)) if $bell == $crate::effects::Bell::Write => {
                    $ledger.bell_failed(&error);
                    $bell = $crate::effects::Bell::Skip;
                }
                Err($crate::effects::Stumble::Bell(source)) => {
                    break Err($crate::error::Error::Unavailable { doing: $doing, source });
                }
                Err($crate::effects::Stumble::Lost) if tries < $crate::effects::TRIES => tries += 1,
                Err($crate::effects::Stumble::Lost) => {
                    break Err($crate::error::Error::Contended { doing: $doing });
                }
            }
        }
    }};
}
pub(crate) use until_stored;

/// What a granted command left to be done after the commit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) stored: Stored,
    pub(crate) effects: Vec<Effect>,
    pub(crate) told: u64,
}

impl Written {
    pub(crate) fn counts(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }
}

impl Ledger {
    /// Decides `command` on a job that was read, stores it and writes its effects, inside the caller's transaction.
    /// Completion writes the conversation and the totals itself; every other effect is written here.
    pub(crate) async fn decide_and_write(
        &self,
        connection: &mut PgConnection,
        read: &Stored,
        command: Command,
        now: Timestamp,
        bell: Bell,
    ) -> Result<Result<Written, Refusal>, Stumble> {
        let said = Said { verb: history::verb(&command), stages: &[] };
        let step = match decide(&read.job, command, now, &self.policy) {
            Ok(step) => step,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let stored = after(read, &step, bell, now, said);
        let kept = row::store(connection, &[&stored], now, &self.policy).await.doing("storing a job")?;
        if kept.is_empty() {
            return Err(Stumble::Lost);
        }
        let told = self.write_effects(connection, read, &stored, &step, now, bell).await?;
        Ok(Ok(Written { stored, effects: step.effects, told }))
    }

    /// Writes the effects of a stored step in the lock order: conversation, deliveries, totals, bell.
    pub(crate) async fn write_effects(
        &self,
        connection: &mut PgConnection,
        before: &Stored,
        after: &Stored,
        step: &Step,
        now: Timestamp,
        bell: Bell,
    ) -> Result<u64, Stumble> {
        let mut told = 0;
        for effect in &step.effects {
            match effect {
                Effect::FailConversation { .. } => told += fail_conversation(connection, after, now).await?,
                Effect::ReopenConversation => reopen_conversation(connection, after, now).await?,
                Effect::CompleteConversation { .. }
                | Effect::CountRetry
                | Effect::CountDeadLetter
                | Effect::RecordAction
                | Effect::Ring { .. } => {}
            }
        }
        // Behind deliveries in the lock order; a completion is written by itself, its totals behind its deliveries, too.
        count_totals(connection, &[(&before.job, &after.job)]).await?;
        count_dead_letters(connection, &before.job, &after.job).await?;
        self.ring_all(connection, &[(&after.job, &step.effects)], bell).await?;
        Ok(told)
    }

    /// Writes the bells that stored steps ask for, unless the verb goes on without them.
    pub(crate) async fn ring_all(
        &self,
        connection: &mut PgConnection,
        steps: &[(&Job, &[Effect])],
        bell: Bell,
    ) -> Result<(), Stumble> {
        let rings = self.rings(steps, bell);
        match rings.0.is_empty() {
            true => Ok(()),
            false => ring(connection, rings).await.map_err(Stumble::Bell),
        }
    }

    /// The bells that stored steps ask for; none when the verb goes on without them.
    pub(crate) fn rings(&self, steps: &[(&Job, &[Effect])], bell: Bell) -> Rings {
        let asked_for = steps.iter().flat_map(|(job, effects)| {
            effects.iter().filter_map(|effect| Some(RingRow::of(job, effect.ring_at()?)))
        });
        Json(asked_for.filter(|_| bell == Bell::Write && self.bells).collect())
    }

    /// After the commit: wakes whoever waits in this process.
    pub(crate) fn wake(&self, job: &Job, effects: &[Effect], told: u64) {
        self.wake_takers(job, effects);
        if told > 0 {
            self.waker.deliveries_written();
        }
        self.waker.job_settled();
    }

    /// After the commit of admissions.
    pub(crate) fn wake_all(&self, steps: &[Step]) {
        steps.iter().for_each(|step| self.wake_takers(&step.job, &step.effects));
    }

    fn wake_takers(&self, job: &Job, effects: &[Effect]) {
        for ring_at in effects.iter().filter_map(Effect::ring_at) {
            self.heads.lower(job.queue, ring_at);
            self.waker.ring(job.queue);
        }
    }

    /// Counts a bell that could not be written (`listen_fallback_total{component="pusher"}`).
    pub(crate) fn bell_failed(&self, error: &sqlx::Error) {
        tracing::warn!(
            database = error.as_database_error().is_some(),
            "a bell could not be written; the job is marked unrung"
        );
        (self.enqueue_failed)();
    }
}

/// The row to store: one version on is the statement's business, `unrung` and the line of history are ours.
pub(crate) fn after(read: &Stored, step: &Step, bell: Bell, now: Timestamp, said: Said<'_>) -> Stored {
    let line = history::line(&read.job, &step.job, read.version + 1, now, said);
    let job = Job { unrung: step.rings() && bell == Bell::Skip, ..step.job.clone() };
    Stored { job, line, ..read.clone() }
}

/// How many bells travel in one parameter.
pub(crate) type Rings = Json<Vec<RingRow>>;

/// The bell of a job's present ring, as its row holds it.
#[derive(Debug, Serialize)]
pub(crate) struct RingRow {
    job_id: String,
    ring: i64,
    dispatch_generation: i64,
    queue: &'static str,
    ring_at: Timestamp,
}

impl RingRow {
    fn of(job: &Job, ring_at: Timestamp) -> Self {
        Self {
            job_id: job.id.as_str().to_owned(),
            ring: job.ring.0,
            dispatch_generation: job.generation.0,
            queue: job.queue.as_str(),
            ring_at,
        }
    }
}

/// How a statement writes the bells of its parameter ([`Rings`]), all of them or, on a condition, none.
macro_rules! bells_rung {
    ($bells:literal $(, $condition:expr)*) => {
        concat!(
            "insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
             select job_id, ring, dispatch_generation, queue, ring_at \
             from jsonb_populate_recordset(null::finalization_bells, ", $bells, ") ",
            $($condition,)*
            " on conflict (job_id, ring) do update set dispatch_generation = excluded.dispatch_generation, \
                 queue = excluded.queue, ring_at = excluded.ring_at"
        )
    };
}
pub(crate) use bells_rung;

async fn ring(connection: &mut PgConnection, rings: Rings) -> Result<(), sqlx::Error> {
    sqlx::query(bells_rung!("$1")).bind(rings).execute(connection).await.map(drop)
}

/// A dead letter's conversation is failed and discarded, whichever edge led here; the completed conversation
/// of a reprocess stays as it was and nobody is told (DECISIONS §4).
async fn fail_conversation(
    connection: &mut PgConnection,
    job: &Stored,
    now: Timestamp,
) -> Result<u64, Error> {
    let failed = sqlx::query(
        "update conversations set status = 'failed', discarded_by_failure = discarded_by_failure or not discarded, \
             discarded = true, updated_at = $3 \
         where user_id = $1 and conversation_id = $2 and status = 'processing'",
    )
    .bind(job.user_id.as_str())
    .bind(job.conversation_id.as_str())
    .bind(now)
    .execute(&mut *connection)
    .await
    .doing("failing a conversation")?;
    if failed.rows_affected() == 0 {
        return Ok(0);
    }
    let about = (&job.user_id, &job.conversation_id, job.revision);
    tell_failed(connection, about, job.trace, now).await
}

/// Writes the `conversation.failed` deliveries of a revision, as part of the trace of its admission.
pub(crate) async fn tell_failed(
    connection: &mut PgConnection,
    (user, conversation, revision): (&UserId, &ConversationId, i64),
    trace: Option<TraceContext>,
    now: Timestamp,
) -> Result<u64, Error> {
    let abouts = vec![About { event: EventKind::ConversationFailed, subject: None }];
    let told = [Told { user, of: Some((conversation, revision)), abouts, trace }];
    Ok(announce(connection, &told, now).await?.into_iter().sum())
}

async fn reopen_conversation(
    connection: &mut PgConnection,
    job: &Stored,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "update conversations set status = 'processing', discarded = discarded and not discarded_by_failure, \
             discarded_by_failure = false, updated_at = $3 \
         where user_id = $1 and conversation_id = $2 and status = 'failed'",
    )
    .bind(job.user_id.as_str())
    .bind(job.conversation_id.as_str())
    .bind(now)
    .execute(connection)
    .await
    .doing("reopening a conversation")
    .map(drop)
}

/// Totals of finished jobs follow every edge into and out of rest, in one of sixteen stripes: that of the first job
/// that changed, as only their sum means something.
pub(crate) async fn count_totals(
    connection: &mut PgConnection,
    changes: &[(&Job, &Job)],
) -> Result<(), Error> {
    let total = |job: &Job| job.state.is_terminal().then(|| job.state.status());
    let mut totals: BTreeMap<&str, i64> = BTreeMap::new();
    for (before, after) in changes {
        let (from, to) = (total(before), total(after));
        from.into_iter().for_each(|status| *totals.entry(status).or_default() -= 1);
        to.into_iter().for_each(|status| *totals.entry(status).or_default() += 1);
    }
    for (status, change) in totals.into_iter().filter(|(_, change)| *change != 0) {
        sqlx::query(
            "update finalization_totals set jobs = jobs + $3 \
             where status = $1 and stripe = abs(hashtext($2) % 16)::smallint",
        )
        .bind(status)
        .bind(changes[0].1.id.as_str())
        .bind(change)
        .execute(&mut *connection)
        .await
        .doing("counting finished jobs")?;
    }
    Ok(())
}

/// Dead letters are counted by code too, and apart once an operator settled them.
async fn count_dead_letters(connection: &mut PgConnection, before: &Job, after: &Job) -> Result<(), Error> {
    let place = |job: &Job| match job.state {
        State::DeadLetter { code } => Some((code.as_str(), job.settled_at.is_some())),
        _ => None,
    };
    let (from, to) = (place(before), place(after));
    if from == to {
        return Ok(());
    }
    for ((code, settled), change) in from.map(|from| (from, -1_i64)).into_iter().chain(to.map(|to| (to, 1))) {
        sqlx::query(
            "insert into dead_letter_totals as t (code, settled, stripe, jobs) \
             values ($1, $2, abs(hashtext($3) % 16)::smallint, $4) \
             on conflict (code, settled, stripe) do update set jobs = t.jobs + excluded.jobs",
        )
        .bind(code)
        .bind(settled)
        .bind(after.id.as_str())
        .bind(change)
        .execute(&mut *connection)
        .await
        .doing("counting dead letters")?;
    }
    Ok(())
}
