//! Completion: one transaction, fenced by the epoch: results, conversation, job, deliveries. Completions that
//! arrive together are committed together.

mod batch;
mod items;
mod memories;
mod write;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use db::{Error, query_as};
use job::{Outcome, Refusal};
use records::{EventKind, KnownTexts, MemoryCategory, SameThing, Structured, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{Ledger, StoredJob, retry_conflicts};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// At most 15 words.
    pub description: String,
    pub due_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// At most 15 words.
    pub content: String,
    /// One of the ten.
    pub category: MemoryCategory,
}

/// What a run made of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Title, overview, emoji, category, events.
    pub structured: Structured,
    /// The folder that fits; written only where the person has not filed it.
    pub folder_id: Option<String>,
    pub items: Vec<NewItem>,
    /// Due dates for older items that have none: (action item id, due).
    pub due_dates: Vec<(String, Timestamp)>,
    /// New memories, at most four.
    pub memories: Vec<NewMemory>,
    /// (model, vector).
    pub embedding: Option<(String, Vec<f32>)>,
    /// (app id, content).
    pub apps: Vec<(String, String)>,
    /// (photo id, description).
    pub photos: Vec<(String, String)>,
    pub engine: String,
    /// What to tell endpoints. `action_item.created` and `memory.created` are sent once per object that completion really
    /// creates.
    pub announcements: Vec<EventKind>,
    /// Milliseconds per stage that ran: for the job's history.
    pub stages: Vec<(&'static str, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Committed. Counts of what was really created after the last comparison.
    Completed { items: usize, memories: usize, deliveries: u64 },
    /// An earlier call of the same claim has committed it, and its answer was lost on the way.
    Already,
    /// The fence says no; nothing was written.
    Refused(Refusal),
}

/// What a run asks to be committed.
pub struct Completion {
    /// The claim that ran: its epoch is the fence.
    pub claimed: StoredJob,
    /// Kept or discarded.
    pub outcome: Outcome,
    pub results: Results,
    /// Compares new things with what is kept once more, under the person's row, so that two conversations of one
    /// person that finish together create no duplicates. Given by the caller: no rule of language lives here.
    pub same: Arc<dyn SameThing>,
}

/// The conversation that a completion is about.
#[derive(PartialEq, Eq, Hash, sqlx::FromRow)]
struct About {
    user_id: String,
    conversation_id: String,
}

impl Completion {
    fn about(&self) -> About {
        let StoredJob { user_id, conversation_id, .. } = &self.claimed;
        About { user_id: user_id.as_str().to_owned(), conversation_id: conversation_id.as_str().to_owned() }
    }
}

impl Ledger {
    /// Completes a run: results, conversation, job and deliveries in one transaction, fenced by the epoch. Runs that
    /// end together share a commit; one that fails takes none of the others with it.
    ///
    /// # Errors
    /// When the database does not answer: the holder repeats the same call.
    pub async fn complete(&self, completion: &Arc<Completion>) -> Result<Finished, Error> {
        let all = async |ledger: Self, batch: Vec<_>, locks| {
            let completed = retry_conflicts!("completing runs", ledger.try_complete_all(&batch, locks));
            ledger.db().in_time(completed).await
        };
        self.completions.run(self, Arc::clone(completion), all).await
    }
}

/// Derived, so that a repeated attempt writes the same row.
fn thing_id(namespace: &Uuid, completion: &Completion, words: &str) -> String {
    Uuid::new_v5(namespace, format!("{}\n{words}", completion.claimed.job.id).as_bytes()).to_string()
}

/// For each text of `new`, the place of the one in `earlier` that it says again: word for word, or else as `same` compares. None of
/// those is given twice.
fn said_again(mut same: Box<dyn KnownTexts>, earlier: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    earlier.iter().for_each(|text| same.add(text));
    let mut free: HashSet<usize> = (0..earlier.len()).collect();
    let word_for_word = |text| earlier.iter().position(|earlier| earlier == text);
    let mut again: Vec<Option<usize>> =
        new.iter().map(|text| word_for_word(text).filter(|place| free.remove(place))).collect();
    for (text, again) in new.iter().zip(&mut again).filter(|(_, again)| again.is_none()) {
        *again = same.find(text).filter(|place| free.remove(place));
    }
    again
}

/// The values of each key, in their order.
fn grouped<K: Eq + Hash, V>(rows: impl IntoIterator<Item = (K, V)>) -> HashMap<K, Vec<V>> {
    let mut groups: HashMap<K, Vec<V>> = HashMap::new();
    rows.into_iter().for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// The people of those completions whose results are `wanted`, each once.
fn people_with<'a>(kept: &[&'a Completion], wanted: impl Fn(&Results) -> bool) -> Vec<&'a str> {
    let of = kept.iter().filter(|completion| wanted(&completion.results));
    let people: BTreeSet<&str> = of.map(|completion| completion.claimed.user_id.as_str()).collect();
    people.into_iter().collect()
}

#[derive(sqlx::FromRow)]
struct Deleted {
    #[sqlx(flatten)]
    of: About,
    content: String,
}

/// What users deleted or reworded of what was extracted, which a later revision does not extract again (DECISIONS §4): the things of
/// `kind`, as the column says it, of each completion's conversation, and of others since that one was first admitted, in the words that
/// were extracted.
/// Each list is made by `comparison`.
/// Read behind what the completion takes back, because a deletion that is under way holds its row until then, and behind
/// what is there: what is deleted between the two reads is in both.
async fn deleted(
    connection: &mut PgConnection,
    kept: &[&Completion],
    kind: &'static str,
    comparison: fn(&dyn SameThing) -> Box<dyn KnownTexts>,
) -> Result<Vec<Box<dyn KnownTexts>>, Error> {
    let claims = || kept.iter().map(|completion| &completion.claimed).filter(|claimed| claimed.revision > 1);
    let mut found: HashMap<About, Vec<String>> = HashMap::new();
    if claims().next().is_some() {
        let rows: Vec<Deleted> = query_as!(
            "completion/deleted_words.sql",
            claims().map(|claimed| claimed.user_id.as_str()).collect::<Vec<_>>(),
            claims().map(|claimed| claimed.conversation_id.as_str()).collect::<Vec<_>>(),
            kind
        )
        .fetch_all(connection)
        .await?;
        found = grouped(rows.into_iter().map(|row| (row.of, row.content)));
    }
    let texts = |completion: &&Completion| {
        let mut texts = comparison(&*completion.same);
        let words = found.get(&completion.about());
        words.into_iter().flatten().for_each(|content| texts.add(content));
        texts
    };
    Ok(kept.iter().map(texts).collect())
}
