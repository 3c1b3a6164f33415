//! The transaction of a batch: each level of the lock order for all its runs, in key order, before the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use job::{Command, Job, Outcome, Refusal, Timestamp, decide};
use sqlx::{FromRow, PgConnection};

use super::{Completion, Finished, items, memories, write};
use crate::{
    EventKind, Ledger,
    announce::{About, Told, announce},
    deliveries::things::forget_things,
    effects::{Bell, Stumble, after, count_totals, until_stored},
    error::{Doing, Error},
    history::{self, Said},
    reminders,
    row::{self, JobRow, Stored},
};

const DOING: &str = "completing runs";

/// A granted completion, with its job before and after.
struct Granted<'a> {
    /// Its place in the batch.
    place: usize,
    completion: &'a Completion,
    before: Job,
    after: Stored,
}

/// The answers that are known, by place.
type Answers = BTreeMap<usize, Finished>;

impl Ledger {
    /// Completes a batch in one transaction; an answer for each, in their order. Who is refused writes nothing.
    pub(super) async fn complete_all(&self, batch: &[Arc<Completion>]) -> Result<Vec<Finished>, Error> {
        until_stored!(self, "completing runs", |_bell| self.try_complete_all(batch))
    }

    async fn try_complete_all(&self, batch: &[Arc<Completion>]) -> Result<Vec<Finished>, Stumble> {
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let mut transaction = session.begin(DOING).await?;
        let (now, jobs) = hold(&mut transaction, batch).await?;
        let (granted, mut answers) = self.decide_all(batch, jobs, now);
        if !granted.is_empty() {
            let rows: Vec<&Stored> = granted.iter().map(|granted| &granted.after).collect();
            let stored = row::store(&mut transaction, &rows, now, &self.policy).await.doing(DOING)?;
            if stored.len() < rows.len() {
                return Err(Stumble::Lost);
            }
            let (finished, pushes) = write_all(&mut transaction, &granted, now).await?;
            answers.extend(finished);
            let changes: Vec<_> =
                granted.iter().map(|granted| (&granted.before, &granted.after.job)).collect();
            count_totals(&mut transaction, &changes).await?;
            transaction.commit().await.doing(DOING)?;
            session.keep();
            self.waker.job_settled();
            self.wake_pushes(pushes);
            if answers.values().any(Finished::was_told) {
                self.waker.deliveries_written();
            }
        }
        Ok(answers.into_values().collect())
    }

    /// Decides one after the other: a completion that is there twice finds what the first one made of the job.
    fn decide_all<'a>(
        &self,
        batch: &'a [Arc<Completion>],
        mut jobs: HashMap<String, Stored>,
        now: Timestamp,
    ) -> (Vec<Granted<'a>>, Answers) {
        let (mut granted, mut answers) = (Vec::new(), Answers::new());
        for (place, completion) in batch.iter().enumerate() {
            let Completion { claimed, outcome, .. } = completion.as_ref();
            let complete = Command::Complete { epoch: claimed.job.epoch, outcome: *outcome };
            let Some(job) = jobs.get_mut(claimed.job.id.as_str()) else {
                answers.insert(place, Finished::Refused(Refusal::LeaseLost));
                continue;
            };
            let already = job.job.has_heard(&complete);
            let said = Said { verb: history::verb(&complete), stages: &completion.results.stages };
            match decide(&job.job, complete, now, &self.policy) {
                Err(_) if already => drop(answers.insert(place, Finished::Already)),
                Err(refusal) => drop(answers.insert(place, Finished::Refused(refusal))),
                Ok(step) => {
                    let done = after(job, &step, Bell::Write, now, said);
                    let before = std::mem::replace(job, done.clone()).job;
                    granted.push(Granted { place, completion, before, after: done });
                }
            }
        }
        (granted, answers)
    }
}

/// A job as it is held, with the database's clock.
#[derive(FromRow)]
struct Held {
    now: Timestamp,
    #[sqlx(flatten)]
    job: JobRow,
}

/// Holds the jobs of a batch, behind the rows of the people who keep something: these come first in the lock order, and a
/// condition on their number is answered before any job is looked for. Of no job at all the clock is not asked.
async fn hold(
    connection: &mut PgConnection,
    batch: &[Arc<Completion>],
) -> Result<(Timestamp, HashMap<String, Stored>), Error> {
    let kept = batch.iter().filter(|completion| completion.outcome == Outcome::Kept);
    let people: BTreeSet<&str> = kept.map(|completion| completion.claimed.user_id.as_str()).collect();
    let rows: Vec<Held> = sqlx::query_as(
        "with people as materialized ( \
             select user_id from users where user_id = any($1) order by user_id for no key update) \
         select statement_timestamp() as now, j.* from finalization_jobs j \
         where j.job_id = any($2) and (select count(*) from people) >= 0 \
         order by j.user_id, j.job_id for no key update of j",
    )
    .bind(people.into_iter().collect::<Vec<_>>())
    .bind(batch.iter().map(|completion| completion.claimed.job.id.as_str()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .doing("holding jobs")?;
    let now = rows.first().map_or(Timestamp::MIN_UTC, |held| held.now);
    Ok((now, row::by_id(rows.into_iter().map(|held| held.job))?))
}

/// Writes conversations, then what hangs on them, then deliveries. Answers what was really created, and how many pushes
/// were written.
async fn write_all(
    connection: &mut PgConnection,
    granted: &[Granted<'_>],
    now: Timestamp,
) -> Result<(Answers, u64), Error> {
    let of = |wanted: bool| {
        let all = granted.iter().map(|granted| granted.completion);
        all.filter(|completion| (completion.outcome == Outcome::Kept) == wanted).collect::<Vec<_>>()
    };
    let (kept, discarded) = (of(true), of(false));
    if !kept.is_empty() && !discarded.is_empty() {
        // Each of the two writes holds its own in key order: together they would be two orders.
        write::hold_conversations(connection, &granted.iter().map(|one| one.completion).collect::<Vec<_>>())
            .await?;
    }
    write::complete_conversations(connection, &kept, now).await?;
    write::discard_conversations(connection, &discarded, now).await?;
    let mut taken_back = memories::take_back_earlier(connection, &kept).await?;
    let mut items = items::write(connection, &kept, now).await?;
    for (taken_back, items) in taken_back.iter_mut().zip(&mut items) {
        taken_back.append(&mut items.taken_back);
    }
    let (mut items, mut memories) =
        (items.into_iter(), memories::write(connection, &kept, now).await?.into_iter());
    write::embeddings(connection, &kept, now).await?;
    let created: Vec<(items::Written, Vec<String>)> = granted
        .iter()
        .map(|granted| match granted.completion.outcome {
            Outcome::Kept => (items.next().unwrap_or_default(), memories.next().unwrap_or_default()),
            _ => Default::default(),
        })
        .collect();
    let told: Vec<Told<'_>> = granted
        .iter()
        .zip(&created)
        .map(|(granted, (items, memories))| told(granted.completion, &items.created, memories))
        .collect();
    let deliveries = announce(connection, &told, now).await?;
    for (completion, things) in kept.iter().zip(&taken_back) {
        // Behind what is written: who removes an endpoint holds it before its deliveries.
        forget_taken_back(connection, completion, things).await?;
    }
    let mut pushes = 0;
    for (granted, (items, _)) in granted.iter().zip(&created) {
        let user = &granted.completion.claimed.user_id;
        reminders::resume(connection, user, &items.dated_again, now).await?;
        pushes += reminders::schedule(connection, user, &items.dated, now).await?;
    }
    let finished = created.iter().zip(deliveries).map(|((items, memories), deliveries)| {
        Finished::Completed { items: items.created.len(), memories: memories.len(), deliveries }
    });
    Ok((granted.iter().map(|granted| granted.place).zip(finished).collect(), pushes))
}

/// Takes back what is still to be told of things that a completion took back.
async fn forget_taken_back(
    connection: &mut PgConnection,
    completion: &Completion,
    things: &[String],
) -> Result<(), Error> {
    let Completion { claimed, .. } = completion;
    let things: Vec<&str> = things.iter().map(String::as_str).collect();
    forget_things(connection, &claimed.user_id, Some(claimed.conversation_id.as_str()), &things)
        .await
        .doing("taking back deliveries")
}

/// An event per thing that was told of: things are told of one by one.
fn told<'a>(completion: &'a Completion, items: &[String], memories: &[String]) -> Told<'a> {
    let each = |event, ids: &[String]| -> Vec<About> {
        ids.iter().map(|id| About { event, subject: Some(id.clone()) }).collect()
    };
    let abouts = completion.results.announcements.iter().flat_map(|announcement| match announcement.event {
        event @ EventKind::ActionItemCreated => each(event, items),
        event @ EventKind::MemoryCreated => each(event, memories),
        event => vec![About { event, subject: None }],
    });
    Told {
        user: &completion.claimed.user_id,
        of: Some((&completion.claimed.conversation_id, completion.claimed.revision)),
        abouts: abouts.collect(),
        trace: completion.claimed.trace,
    }
}
