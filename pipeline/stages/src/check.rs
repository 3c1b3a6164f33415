//! What every engine's output passes before it is kept, whichever engine it was: closed lists, lengths,
//! one emoji, few memories, dates that can be meant, evidence that was said, and no link, markup or hidden
//! character. A model is asked for all of this, and trusted in none of it.
//!
//! Each stage that asks an engine calls this before it returns: checkpoints and results are JSON in Postgres, which
//! cannot hold U+0000.

mod grounds;
mod invisible;
mod markup;
mod text;

use chrono::{Datelike, Duration};
use records::{Folder, Talk, Timestamp};

pub use self::text::shortened;
use crate::{AppResult, EventDraft, ItemDraft, MemoryDraft, Structure, Survey};

/// The longest title, in characters (DECISIONS §5).
const TITLE: usize = 80;
/// The longest item or memory, in words (DECISIONS §5).
const WORDS: usize = 15;
/// The same in Vietnamese, which writes the syllables of a word apart.
const SYLLABLES: usize = 25;
/// The longest line of text: an event's title, an owner.
const LINE: usize = 500;
/// The longest text: an overview, what an app wrote.
const TEXT: usize = 8_000;
/// The longest description of a picture.
const PHOTO: usize = 1_000;
const MOST_EVENTS: usize = 20;
const MOST_ITEMS: usize = 50;
/// Of which the stage keeps the first that are new.
const MOST_MEMORIES: usize = 50;
const DEFAULT_EMOJI: &str = "🧠";
const DEFAULT_MINUTES: i32 = 30;
const LONGEST_MINUTES: i32 = 24 * 60;
/// What was due longer ago than this was misunderstood, or is no longer to be done (DECISIONS §5).
const PAST: Duration = Duration::days(1);
/// A date further ahead is more likely a slip than a plan.
const AHEAD: Duration = Duration::days(2 * 366);

/// A structure fit to be kept; nothing when title or overview have no words left.
pub(crate) fn structure(draft: Structure, talk: &Talk, folders: &[Folder]) -> Option<Structure> {
    let (title, overview) = (text::title(&draft.title, TITLE), text::text(&draft.overview, TEXT));
    if title.is_empty() || overview.is_empty() {
        return None;
    }
    Some(Structure {
        title,
        overview,
        category: draft.category,
        emoji: text::emoji(&draft.emoji).unwrap_or(DEFAULT_EMOJI).to_owned(),
        events: draft.events.into_iter().filter_map(|draft| event(draft, talk)).take(MOST_EVENTS).collect(),
        // An engine may name a folder that is not the person's: then none fits.
        folder_id: draft.folder_id.filter(|id| folders.iter().any(|folder| folder.id.as_str() == id)),
    })
}

/// The parts of a survey, each fit to be kept: a checkpoint holds them before their own stages do.
pub(crate) fn survey(survey: Survey, talk: &Talk, folders: &[Folder]) -> Survey {
    Survey {
        structure: survey.structure.and_then(|draft| structure(draft, talk, folders)),
        items: survey.items.map(|drafts| items(drafts, talk)),
        memories: survey.memories.map(|drafts| memories(drafts, talk)),
    }
}

/// Whether a title has words left when it is made fit to be kept: a bare link has none.
pub fn is_title(title: &str) -> bool {
    !text::title(title, TITLE).is_empty()
}

/// A structure of a talk that has words, but none that can be shown: a bare link, say.
pub(crate) fn wordless(draft: Structure) -> Structure {
    Structure {
        title: "Conversation".to_owned(),
        overview: "Nothing was said that could be summed up.".to_owned(),
        category: draft.category,
        emoji: DEFAULT_EMOJI.to_owned(),
        events: Vec::new(),
        folder_id: None,
    }
}

fn event(draft: EventDraft, talk: &Talk) -> Option<EventDraft> {
    let title = text::line(&draft.title, LINE);
    let is_meant = !title.is_empty() && can_be_meant(draft.start, talk);
    let is_length = (1..=LONGEST_MINUTES).contains(&draft.duration);
    is_meant.then(|| EventDraft {
        title,
        description: text::line(&draft.description, LINE),
        start: draft.start,
        duration: if is_length { draft.duration } else { DEFAULT_MINUTES },
    })
}

/// Items fit to be kept. A long one is cut: an abridged task is better than a lost one.
pub(crate) fn items(drafts: Vec<ItemDraft>, talk: &Talk) -> Vec<ItemDraft> {
    let grounds = grounds::Grounds::of(talk);
    let checked = drafts.into_iter().filter_map(|draft| {
        let description = text::line(&draft.description, LINE);
        let description = text::words(&description, longest(&description));
        let is_fit = !description.is_empty()
            && !text::addresses_a_model(&description)
            && grounds.bear(&description, draft.evidence.as_deref());
        is_fit.then(|| ItemDraft {
            description,
            owner: draft.owner.map(|owner| text::line(&owner, TITLE)).filter(|owner| !owner.is_empty()),
            due_at: draft.due_at.filter(|due_at| can_be_meant(*due_at, talk)),
            evidence: None,
        })
    });
    checked.take(MOST_ITEMS).collect()
}

/// Memories fit to be kept. One that is too long is left out and not cut: half a fact can be a false one.
/// One that gives orders is left out, too: a memory is read again by later models.
pub(crate) fn memories(drafts: Vec<MemoryDraft>, talk: &Talk) -> Vec<MemoryDraft> {
    let grounds = grounds::Grounds::of(talk);
    let checked = drafts.into_iter().filter_map(|draft| {
        let content = text::line(&draft.content, LINE);
        let is_fit = (1..=longest(&content)).contains(&content.split_whitespace().count())
            && !text::gives_orders(&content)
            && grounds.bear(&content, draft.evidence.as_deref());
        is_fit.then_some(MemoryDraft { content, category: draft.category, evidence: None })
    });
    checked.take(MOST_MEMORIES).collect()
}

/// How many words `text` may have.
fn longest(text: &str) -> usize {
    if text.contains(|letter| matches!(letter, '\u{1ea0}'..='\u{1ef9}')) { SYLLABLES } else { WORDS }
}

/// What an app wrote, as plain text.
pub(crate) fn app(result: AppResult) -> AppResult {
    AppResult { content: text::text(&result.content, TEXT), ..result }
}

/// What is on a picture, as plain text; nothing when no words are left.
pub(crate) fn photo(description: &str) -> Option<String> {
    Some(text::text(description, PHOTO)).filter(|description| !description.is_empty())
}

/// Near the talk, and in a year that RFC 3339 can write: what is shown must be readable.
fn can_be_meant(moment: Timestamp, talk: &Talk) -> bool {
    let is_near = (talk.started_at - PAST..=talk.started_at + AHEAD).contains(&moment);
    is_near && (1..=9999).contains(&moment.year())
}

#[cfg(test)]
mod markup_tests;
#[cfg(test)]
mod tests;
