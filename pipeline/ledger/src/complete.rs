//! Completion: one transaction, fenced by the epoch: results, conversation, job, deliveries.

mod things;
mod write;

use job::{Command, Outcome, Refusal};
use records::{MemoryCategory, Structured, Timestamp};
use sqlx::PgConnection;

use self::{
    things::{WrittenItems, take_back_earlier, write_items, write_memories},
    write::{write_conversation, write_embedding},
};
use crate::{
    Ledger,
    announce::{About, announce},
    effects::{Bell, Stumble, count_totals, until_stored},
    endpoints::EventKind,
    error::{Doing, Error},
    reminders, row,
    take::Claimed,
};

/// An action item to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// At most 15 words.
    pub description: String,
    /// When it is due.
    pub due_at: Option<Timestamp>,
}

/// A memory to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// At most 15 words.
    pub content: String,
    /// One of the ten.
    pub category: MemoryCategory,
}

/// What to tell endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// What happened. `action_item.created` and `memory.created` are told once per thing that completion really creates.
    pub event: EventKind,
}

/// What a run made of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Title, overview, emoji, category, events.
    pub structured: Structured,
    /// The folder that fits; written only where the person has not filed it.
    pub folder_id: Option<String>,
    /// New action items.
    pub items: Vec<NewItem>,
    /// Due dates for older items that have none: (action item id, due).
    pub due_dates: Vec<(String, Timestamp)>,
    /// New memories, at most four.
    pub memories: Vec<NewMemory>,
    /// (model, vector).
    pub embedding: Option<(String, Vec<f32>)>,
    /// (app id, content).
    pub apps: Vec<(String, String)>,
    /// The engine's id.
    pub engine: String,
    /// What to tell.
    pub announcements: Vec<Announcement>,
}

/// What came of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Committed. Counts of what was really created after the last comparison.
    Completed {
        /// Action items created.
        items: usize,
        /// Memories created.
        memories: usize,
        /// Deliveries written.
        deliveries: u64,
    },
    /// The fence says no; nothing was written.
    Refused(Refusal),
}

/// Compares two action items, and two facts: given by the caller, because no rule of language lives here.
pub type Same<'a> = (&'a (dyn Fn(&str, &str) -> bool + Sync), &'a (dyn Fn(&str, &str) -> bool + Sync));

impl Ledger {
    /// Completes a run: results, conversation, job and deliveries in one transaction, fenced by the epoch.
    /// `same` compares new things with what is kept once more, under the person's row, so that two conversations
    /// of one person that finish together create no duplicates.
    ///
    /// # Errors
    /// When the database does not answer: the holder repeats the same call.
    pub async fn complete(
        &self,
        claimed: &Claimed,
        outcome: Outcome,
        results: &Results,
        same: Same<'_>,
    ) -> Result<Finished, Error> {
        until_stored!(self, "completing a run", |bell| self
            .try_complete(claimed, outcome, results, same, bell))
    }

    async fn try_complete(
        &self,
        claimed: &Claimed,
        outcome: Outcome,
        results: &Results,
        same: Same<'_>,
        bell: Bell,
    ) -> Result<Finished, Stumble> {
        let (mut transaction, now) = self.begin("completing a run").await?;
        let keeps = outcome == Outcome::Kept;
        if keeps {
            lock_person(&mut transaction, claimed).await?;
        }
        let Some(stored) = row::read(&mut transaction, &claimed.job.id).await? else {
            return Ok(Finished::Refused(Refusal::LeaseLost));
        };
        let command = Command::Complete { epoch: claimed.job.epoch, outcome };
        let written = match self.decide_and_write(&mut transaction, &stored, command, now, bell).await? {
            Ok(written) => written,
            Err(refusal) => return Ok(Finished::Refused(refusal)),
        };
        write_conversation(&mut transaction, claimed, outcome, results, now).await?;
        let (mut items, mut memories) = (WrittenItems::default(), Vec::new());
        if keeps {
            let taken_back = take_back_earlier(&mut transaction, claimed).await?;
            items = write_items(&mut transaction, claimed, results, &taken_back, same.0, now).await?;
            memories = write_memories(&mut transaction, claimed, results, same.1, now).await?;
            write_embedding(&mut transaction, claimed, results, now).await?;
        }
        let abouts = abouts(&results.announcements, &items.created, &memories);
        let deliveries = announce(
            &mut transaction,
            &claimed.user_id,
            &claimed.conversation_id,
            claimed.revision,
            &abouts,
            now,
        )
        .await?;
        reminders::resume(&mut transaction, &claimed.user_id, &items.dated_again, now).await?;
        let pushes = reminders::schedule(&mut transaction, &claimed.user_id, &items.dated, now).await?;
        count_totals(&mut transaction, &stored.job, &written.stored.job).await?;
        transaction.commit().await.doing("completing a run")?;
        self.wake(&written.stored.job, &written.effects, deliveries);
        self.wake_pushes(pushes);
        Ok(Finished::Completed { items: items.created.len(), memories: memories.len(), deliveries })
    }
}

/// The person's row comes first in the lock order.
async fn lock_person(connection: &mut PgConnection, claimed: &Claimed) -> Result<(), Error> {
    sqlx::query("select from users where user_id = $1 for no key update")
        .bind(claimed.user_id.as_str())
        .execute(connection)
        .await
        .doing("locking a person")
        .map(drop)
}

/// An event per thing that was told of: things are told of one by one.
fn abouts(announcements: &[Announcement], items: &[String], memories: &[String]) -> Vec<About> {
    announcements
        .iter()
        .flat_map(|announcement| {
            let event = announcement.event;
            let each =
                |ids: &[String]| ids.iter().map(|id| About { event, subject: Some(id.clone()) }).collect();
            match event {
                EventKind::ActionItemCreated => each(items),
                EventKind::MemoryCreated => each(memories),
                _ => vec![About { event, subject: None }],
            }
        })
        .collect()
}
