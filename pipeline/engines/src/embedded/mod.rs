//! The embedded engine: rules and a small linear model, no network, no key. The same talk always gives the same
//! answer, and its id says that it was no language model that spoke.

mod apps;
mod capitals;
mod chat;
mod clauses;
mod dates;
mod decisions;
mod events;
mod hashing;
mod items;
mod judge;
mod language;
mod learned;
mod lexicon;
mod memories;
mod overview;
mod pattern;
mod phrases;
mod pictures;
mod planted;
mod relation;
mod reported;
mod same;
mod subject;
mod text;
mod title;
mod unpunctuated;
mod unread;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use compute::{OverBudget, Pool};
use dates::Reference;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use job::FailureCode;
use language::Language;
use records::{Category, Folder, KnownTexts, MemoryCategory, SameThing, Talk};
use stages::{
    AppResult, CategorizeMemory, Describe, Embed, Embedding, Engine, ExtractItems, ExtractMemories, Failure,
    ItemDraft, Judge, MemoryDraft, RunApp, Structure, Verdict,
};

pub(crate) use chat::chosen;
pub use dates::DayOrder;
pub use judge::DiscardReason;

/// The processor time that one stage may use: enough for a busy machine and a debug build, and for each byte of text.
const BUDGET: Duration = Duration::from_secs(20);
const BUDGET_PER_BYTE: Duration = Duration::from_micros(100);

/// How many key phrases a title is made of.
const TOPICS: usize = 3;

/// The deterministic engine that is always there. English is understood by rules and weights; of other languages
/// it gives a title of key words, an extractive overview and, for some, a category, and it says that it
/// did not read them for items: to the person at the end of the overview, to programs by [`ExtractItems::reads`].
#[derive(Clone, Debug, Default)]
pub struct Embedded {
    order: DayOrder,
    pool: Option<Pool>,
}

impl Embedded {
    /// The engine. It has no state; dates such as 5/6 are read month first.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same engine, reading dates such as 5/6 in `order`.
    pub fn with_day_order(order: DayOrder) -> Self {
        Self { order, pool: None }
    }

    /// The same engine, working on the threads of `pool`: a service answers requests on its own.
    pub fn on_pool(self, pool: Pool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Runs `work` on `talk`.
    fn on<'a, T: Send + 'static>(
        &'a self,
        talk: &'a Talk,
        work: impl FnOnce(&Talk) -> Result<T, FailureCode> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Failure>> {
        if self.pool.is_none() {
            return ready(work(talk).map_err(Failure::from)).boxed();
        }
        let (talk, length) = (talk.clone(), talk.lines.iter().map(|line| line.text.len()).sum());
        self.run(length, move || work(&talk))
    }

    /// Runs `work` about a text of `length` bytes.
    fn run<'a, T: Send + 'static>(
        &'a self,
        length: usize,
        work: impl FnOnce() -> Result<T, FailureCode> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Failure>> {
        let Some(pool) = &self.pool else { return ready(work().map_err(Failure::from)).boxed() };
        let budget = BUDGET + BUDGET_PER_BYTE * u32::try_from(length).unwrap_or(u32::MAX);
        async move {
            match pool.run(budget, length, work).await {
                Ok(done) => done.map_err(Failure::from),
                Err(OverBudget) => Err(FailureCode::StageTimeout.into()),
            }
        }
        .boxed()
    }

    /// Why `talk` would be discarded; `None` when it is kept. The verdict of [`Judge`] with its reason.
    pub fn discard_reason(&self, talk: &Talk) -> Option<DiscardReason> {
        judge::reason(talk, self.order)
    }
}

impl Engine for Embedded {
    fn id(&self) -> &str {
        "embedded/23"
    }

    fn costs(&self) -> bool {
        false
    }
}

impl Judge for Embedded {
    fn judge<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>> {
        let order = self.order;
        self.on(talk, move |talk| {
            let Some(reason) = judge::reason(talk, order) else { return Ok(Verdict::Keep) };
            tracing::debug!(reason = reason.as_str(), "the talk says nothing to keep");
            Ok(Verdict::Discard)
        })
    }
}

impl Describe for Embedded {
    fn describe<'a>(
        &'a self,
        talk: &'a Talk,
        folders: &'a [Folder],
    ) -> BoxFuture<'a, Result<Structure, Failure>> {
        let (folders, order) = (folders.to_vec(), self.order);
        self.on(talk, move |talk| Ok(describe(talk, &folders, order)))
    }
}

impl ExtractItems for Embedded {
    fn extract_items<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>> {
        let order = self.order;
        self.on(talk, move |talk| {
            Ok(if is_english(talk) {
                items::extract(&planted::heard(talk, true), &Reference::of(talk, order))
            } else {
                Vec::new()
            })
        })
    }

    fn reads(&self, talk: &Talk) -> bool {
        is_english(talk)
    }
}

impl ExtractMemories for Embedded {
    fn extract_memories<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>> {
        self.on(talk, |talk| Ok(if is_english(talk) { memories::extract(talk) } else { Vec::new() }))
    }
}

impl Embed for Embedded {
    fn embed<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>> {
        let owned = text.to_owned();
        self.run(text.len(), move || Ok(hashing::embedding(&owned)))
    }
}

impl RunApp for Embedded {
    fn run_app<'a>(
        &'a self,
        app_id: &'a str,
        talk: &'a Talk,
        structure: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        let (app_id, structure, order) = (app_id.to_owned(), structure.clone(), self.order);
        self.on(talk, move |talk| apps::run(&app_id, talk, &structure, order))
    }
}

impl CategorizeMemory for Embedded {
    fn category_of(&self, content: &str) -> MemoryCategory {
        memories::category_of(content)
    }
}

impl SameThing for Embedded {
    fn tasks(&self) -> Box<dyn KnownTexts> {
        same::known_tasks()
    }

    fn facts(&self) -> Box<dyn KnownTexts> {
        same::known_facts()
    }

    fn read(&self, tasks: Vec<String>, facts: Vec<String>) -> BoxFuture<'_, ()> {
        let Some(pool) = &self.pool else { return ready(()).boxed() };
        let length = tasks.iter().chain(&facts).map(String::len).sum();
        let work = move || same::remember(&tasks, &facts);
        // What is over budget is read where it is compared.
        pool.run(BUDGET, length, work).map(drop).boxed()
    }
}

/// What a talk says of its language; nothing where it says English, as clients do that know no better, and is in another one.
pub(crate) fn claimed_language(talk: &Talk) -> Option<&str> {
    let claims_english = talk.language.get(..2).is_none_or(|code| code.eq_ignore_ascii_case("en"));
    (!claims_english || is_english(talk)).then_some(talk.language.as_str())
}

/// Whether the rules apply.
fn is_english(talk: &Talk) -> bool {
    Language::of(talk).is_english()
}

fn describe(talk: &Talk, folders: &[Folder], order: DayOrder) -> Structure {
    match pictures::alone(talk) {
        Some(shown) => {
            let structure = describe_lines(&shown, folders, None);
            Structure { overview: pictures::overview(&shown, structure.overview), ..structure }
        }
        None => describe_lines(talk, folders, Some(order)),
    }
}

/// Without an order of dates, no tasks and events are looked for.
fn describe_lines(talk: &Talk, folders: &[Folder], order: Option<DayOrder>) -> Structure {
    let read = Read::of(talk, order);
    let topics = phrases::key_phrases(&read.sentences, &read.known(), TOPICS);
    let Read { language, sentences, frequency, category, next, .. } = read;
    let overview = match overview::overview(&sentences, &next, &topics, &frequency, language) {
        // A note of few words is its own overview.
        overview if overview.is_empty() && !language.is_english() => overview::opening(&sentences),
        overview => overview,
    };
    Structure {
        title: title::title(talk.background.meeting.as_ref(), &topics, &sentences, language),
        overview: unread::said_in(language, talk, overview),
        category,
        emoji: lexicon::emoji_of(category).to_owned(),
        folder_id: title::folder(folders, category, &frequency, language),
        events: next.events,
    }
}

/// A talk, read to be described.
struct Read<'t> {
    language: Language,
    sentences: Vec<text::Sentence<'t>>,
    /// How often each stem is said.
    frequency: HashMap<String, f64>,
    category: Category,
    next: overview::Next,
    /// How much each stem is said of what is next.
    next_stems: BTreeMap<String, f64>,
    /// How much each stem counts.
    weights: HashMap<String, f64>,
}

impl<'t> Read<'t> {
    fn of(talk: &'t Talk, order: Option<DayOrder>) -> Self {
        let language = Language::of(talk);
        let heard = planted::heard(talk, language.is_english());
        let reference = order.filter(|_| language.is_english()).map(|order| Reference::of(talk, order));
        let next = overview::Next {
            items: reference.map_or_else(Vec::new, |reference| items::extract(&heard, &reference)),
            events: reference.map_or_else(Vec::new, |reference| events::extract(&heard, &reference)),
            zone: talk.time_zone,
        };
        // A talk of nothing but orders still gets its title.
        let sentences = if heard.is_empty() { text::sentences(talk, language.is_english()) } else { heard };
        let frequency = phrases::frequencies(&sentences, language);
        let category = subject::category(&sentences, &frequency, language);
        let mut weights = subject::weights(&frequency, category, language);
        let next_stems = next.stems();
        for (stem, more) in &next_stems {
            weights.entry(stem.clone()).and_modify(|weight| *weight += more);
        }
        Self { language, sentences, frequency, category, next, next_stems, weights }
    }

    fn known(&self) -> phrases::Known<'_> {
        phrases::Known {
            frequency: &self.frequency,
            weights: &self.weights,
            next: &self.next_stems,
            language: self.language,
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod training;
