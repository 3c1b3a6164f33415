//! The transaction of a batch: each level of the lock order for all its runs, in key order, before the next.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use db::{Error, array, lock_user, query, query_as, query_scalar};
use job::{Command, Job, Outcome, Refusal, Timestamp};
use outbox::{
    announce::{Event, Events, announce},
    deliveries::forget_objects,
    reminders,
};
use records::EventKind;
use sqlx::PgConnection;

use super::{
    About, Completion, Finished,
    items::{self, ItemChanges},
    memories::{self, MemoryChanges},
    write,
};
use crate::{
    Ledger,
    admit::lock_conversation,
    batcher::{Batched, Locks},
    effects::{Abort, count_totals},
    history::Detail,
    row::{self, LockedRow, StoredJob},
};

/// A granted completion, with its job before and after.
struct Granted<'a> {
    index: usize,
    completion: &'a Completion,
    before: Job,
    after: StoredJob,
}

/// The outcomes that are known, by index.
type Outcomes = BTreeMap<usize, Batched<Finished>>;

impl Ledger {
    /// Completes a batch in one transaction; an outcome for each, in their order. One that is refused writes nothing.
    pub(super) async fn try_complete_all(
        &self,
        batch: &[Arc<Completion>],
        locks: Locks,
    ) -> Result<Vec<Batched<Finished>>, Abort> {
        let mut transaction = self.db.begin_without_clock().await?;
        if locks == Locks::Wait {
            wait_for_locks(&mut transaction, batch).await?;
        }
        let users = lock_users(&mut transaction, batch).await?;
        let (now, jobs) = lock_jobs(&mut transaction, batch).await?;
        let (granted, mut outcomes) = self.decide_all(batch, &users, jobs, locks, now);
        let conversations = lock_conversations(&mut transaction, &granted).await?;
        let (granted, locked): (Vec<_>, Vec<_>) = granted
            .into_iter()
            .partition(|granted| locks == Locks::Wait || conversations.contains(&granted.completion.about()));
        outcomes.extend(locked.into_iter().map(|granted| (granted.index, Batched::Locked)));
        if granted.is_empty() {
            // Ended explicitly, and not by the driver: claims and renewals skip locked jobs, however short the lock.
            transaction.rollback().await?;
        } else {
            let rows: Vec<&StoredJob> = granted.iter().map(|granted| &granted.after).collect();
            let stored = row::store(&mut transaction, &rows, now, &self.policy).await?;
            if stored.len() < rows.len() {
                return Err(Abort::Conflict);
            }
            let (finished, pushes) = write_all(&mut transaction, &granted, now).await?;
            let changes: Vec<_> =
                granted.iter().map(|granted| (&granted.before, &granted.after.job)).collect();
            count_totals(&mut transaction, &changes).await?;
            transaction.commit().await?;
            self.db.waker().job_settled();
            self.outbox.wake_pushes(pushes);
            if finished.values().any(|one| matches!(one, Finished::Completed { deliveries: 1.., .. })) {
                self.db.waker().deliveries_written();
            }
            outcomes.extend(finished.into_iter().map(|(index, finished)| (index, Batched::Done(finished))));
        }
        Ok(outcomes.into_values().collect())
    }

    /// Decides one after the other: a completion that is there twice finds what the first one made of the job.
    fn decide_all<'a>(
        &self,
        batch: &'a [Arc<Completion>],
        users: &HashSet<String>,
        mut jobs: HashMap<String, StoredJob>,
        locks: Locks,
        now: Timestamp,
    ) -> (Vec<Granted<'a>>, Outcomes) {
        let (mut granted, mut outcomes) = (Vec::new(), Outcomes::new());
        for (index, completion) in batch.iter().enumerate() {
            let Completion { claimed, outcome, .. } = completion.as_ref();
            let complete = Command::Complete { epoch: claimed.job.epoch, outcome: *outcome };
            let needs_user = *outcome == Outcome::Kept && !users.contains(claimed.user_id.as_str());
            let Some(job) =
                jobs.get_mut(claimed.job.id.as_str()).filter(|_| locks == Locks::Wait || !needs_user)
            else {
                outcomes.insert(
                    index,
                    match locks {
                        Locks::Skip => Batched::Locked,
                        Locks::Wait => Batched::Done(Finished::Refused(Refusal::LeaseLost)),
                    },
                );
                continue;
            };
            let already = job.job.has_applied(&complete);
            let detail = Detail { stages: &completion.results.stages, ..Detail::default() };
            match self.step(job, complete, now, detail) {
                Err(_) if already => drop(outcomes.insert(index, Batched::Done(Finished::Already))),
                Err(refusal) => drop(outcomes.insert(index, Batched::Done(Finished::Refused(refusal)))),
                Ok((done, _)) => {
                    let before = std::mem::replace(job, done.clone()).job;
                    granted.push(Granted { index, completion, before, after: done });
                }
            }
        }
        (granted, outcomes)
    }
}

/// Waits for the locks of a completion that runs by itself, in the lock order.
async fn wait_for_locks(connection: &mut PgConnection, batch: &[Arc<Completion>]) -> Result<(), Error> {
    for completion in batch {
        let StoredJob { user_id, conversation_id, job, .. } = &completion.claimed;
        if completion.outcome == Outcome::Kept {
            lock_user(connection, user_id).await?;
        }
        query!("completion/wait_for_job.sql", user_id, job.id.as_str()).execute(&mut *connection).await?;
        lock_conversation(connection, user_id, conversation_id).await?;
    }
    Ok(())
}

/// The users of those completions that keep their conversations, locked.
async fn lock_users(
    connection: &mut PgConnection,
    batch: &[Arc<Completion>],
) -> Result<HashSet<String>, Error> {
    let kept = batch.iter().filter(|completion| completion.outcome == Outcome::Kept);
    let users: BTreeSet<&str> = kept.map(|completion| completion.claimed.user_id.as_str()).collect();
    if users.is_empty() {
        return Ok(HashSet::new());
    }
    let locked: Vec<String> =
        query_scalar!("completion/lock_users.sql", users.into_iter().collect::<Vec<_>>())
            .fetch_all(connection)
            .await?;
    Ok(locked.into_iter().collect())
}

/// The jobs of a batch, locked, with the database's clock.
async fn lock_jobs(
    connection: &mut PgConnection,
    batch: &[Arc<Completion>],
) -> Result<(Timestamp, HashMap<String, StoredJob>), Error> {
    let rows: Vec<LockedRow> =
        query_as!("completion/lock_jobs.sql", array(batch, |completion| completion.claimed.job.id.as_str()))
            .fetch_all(connection)
            .await?;
    let now = rows.first().map_or(Timestamp::MIN_UTC, |locked| locked.now);
    Ok((now, row::by_id(rows.into_iter().map(|locked| locked.row))?))
}

/// The conversations of granted completions, locked.
async fn lock_conversations(
    connection: &mut PgConnection,
    granted: &[Granted<'_>],
) -> Result<HashSet<About>, Error> {
    if granted.is_empty() {
        return Ok(HashSet::new());
    }
    let locked: Vec<About> = query_as!(
        "completion/lock_conversations.sql",
        array(granted, |granted| granted.completion.claimed.user_id.as_str()),
        array(granted, |granted| granted.completion.claimed.conversation_id.as_str())
    )
    .fetch_all(connection)
    .await?;
    Ok(locked.into_iter().collect())
}

/// Writes conversations, then what hangs on them, then deliveries. Answers what was really created, and how many pushes
/// were written.
async fn write_all(
    connection: &mut PgConnection,
    granted: &[Granted<'_>],
    now: Timestamp,
) -> Result<(BTreeMap<usize, Finished>, u64), Error> {
    let all = granted.iter().map(|granted| granted.completion);
    let (kept, discarded): (Vec<_>, Vec<_>) = all.partition(|completion| completion.outcome == Outcome::Kept);
    write::complete_conversations(connection, &kept, now).await?;
    write::discard_conversations(connection, &discarded, now).await?;
    let mut memories = memories::write(connection, &kept, now).await?.into_iter();
    let mut items = items::write(connection, &kept, now).await?.into_iter();
    write::embeddings(connection, &kept, now).await?;
    write::photos(connection, &kept).await?;
    let changes: Vec<(ItemChanges, MemoryChanges)> = granted
        .iter()
        .map(|granted| match granted.completion.outcome {
            Outcome::Kept => (items.next().unwrap_or_default(), memories.next().unwrap_or_default()),
            _ => Default::default(),
        })
        .collect();
    let entries: Vec<Events<'_>> = granted
        .iter()
        .zip(&changes)
        .map(|(granted, (items, memories))| events_of(granted.completion, &items.created, &memories.created))
        .collect();
    let deliveries = announce(connection, &entries, now).await?;
    // Undelivered events about objects that a completion took back are cancelled.
    for (granted, (items, memories)) in granted.iter().zip(&changes) {
        // Behind what is written: who removes an endpoint holds it before its deliveries.
        let StoredJob { user_id, conversation_id, .. } = &granted.completion.claimed;
        let things: Vec<&str> =
            items.taken_back.iter().chain(&memories.taken_back).map(String::as_str).collect();
        forget_objects(connection, user_id, Some(conversation_id.as_str()), &things).await?;
    }
    let mut pushes = 0;
    for (granted, (items, _)) in granted.iter().zip(&changes) {
        let user = &granted.completion.claimed.user_id;
        let undated: Vec<&str> = items.undated.iter().map(String::as_str).collect();
        reminders::cancel(connection, user, &undated, now).await?;
        pushes += reminders::schedule(connection, user, &items.dated, now).await?;
    }
    let finished = changes.iter().zip(deliveries).map(|((items, memories), deliveries)| {
        Finished::Completed { items: items.created.len(), memories: memories.created.len(), deliveries }
    });
    Ok((granted.iter().map(|granted| granted.index).zip(finished).collect(), pushes))
}

/// One event per created object.
fn events_of<'a>(completion: &'a Completion, items: &[String], memories: &[String]) -> Events<'a> {
    let each = |event, ids: &[String]| -> Vec<Event> {
        ids.iter().map(|id| Event { event, subject: Some(id.clone()) }).collect()
    };
    let events = completion.results.announcements.iter().flat_map(|event| match *event {
        event @ EventKind::ActionItemCreated => each(event, items),
        event @ EventKind::MemoryCreated => each(event, memories),
        event => vec![Event { event, subject: None }],
    });
    Events {
        user: &completion.claimed.user_id,
        of: Some((&completion.claimed.conversation_id, completion.claimed.revision)),
        events: events.collect(),
        trace: completion.claimed.trace,
    }
}
