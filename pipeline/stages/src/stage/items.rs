//! `extract_action_items`: what is to be done, without what is already on the list.

use std::sync::Arc;

use chrono::Duration;
use job::FailureCode;
use records::{Talk, Timestamp};

use super::{Provenance, Stage, StageName, first_words};
use crate::{ExtractItems, ItemDraft, Items, RecentItem, SameThing};

/// The longest description (DECISIONS §5). A longer one is cut: an abridged task is better than a lost one.
const WORDS: usize = 15;

/// Extracts action items and compares them with each other and with recent ones.
pub struct ExtractActionItems {
    engine: Arc<dyn ExtractItems>,
    same: Arc<dyn SameThing>,
}

impl ExtractActionItems {
    /// Asks `engine`, and `same` whether two items name one task.
    pub fn new(engine: Arc<dyn ExtractItems>, same: Arc<dyn SameThing>) -> Self {
        Self { engine, same }
    }
}

impl Stage for ExtractActionItems {
    const NAME: StageName = "extract_action_items";
    type Input<'a> = (&'a Talk, &'a [RecentItem]);
    type Output = Items;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    async fn run<'a>(&'a self, (talk, recent): Self::Input<'a>) -> Result<Items, FailureCode> {
        let drafts = self.engine.extract_items(talk).await?;
        let items = settle(drafts, talk.started_at, recent, &*self.same);
        Ok(Items { unread: !self.engine.reads(talk), ..items })
    }
}

/// Keeps one item per topic. A repetition is not created again: it hands its due date to the older one if
/// that has none, be it of this talk or of the last two days.
fn settle(
    drafts: Vec<ItemDraft>,
    started_at: Timestamp,
    recent: &[RecentItem],
    same: &dyn SameThing,
) -> Items {
    let mut items = Items::default();
    for draft in
        drafts.into_iter().map(|draft| tidy(draft, started_at)).filter(|draft| !draft.description.is_empty())
    {
        let repeats = |description: &str| same.same_task(description, &draft.description);
        if let Some(old) = recent.iter().find(|old| repeats(&old.description)) {
            hand_over(&mut items.due_dates, old, draft.due_at);
        } else if let Some(twin) = items.new.iter_mut().find(|twin| repeats(&twin.description)) {
            twin.due_at = twin.due_at.or(draft.due_at);
        } else {
            items.new.push(draft);
        }
    }
    items
}

fn hand_over(due_dates: &mut Vec<(String, Timestamp)>, old: &RecentItem, due_at: Option<Timestamp>) {
    let has_one = old.due_at.is_some() || due_dates.iter().any(|(id, _)| *id == old.id);
    if let (Some(due_at), false) = (due_at, has_one) {
        due_dates.push((old.id.clone(), due_at));
    }
}

/// At most 15 words, and no due date more than a day before the talk began: such a date was misunderstood.
fn tidy(draft: ItemDraft, started_at: Timestamp) -> ItemDraft {
    ItemDraft {
        description: first_words(&draft.description, WORDS),
        due_at: draft.due_at.filter(|due_at| started_at.signed_duration_since(*due_at) <= Duration::days(1)),
        owner: draft.owner,
    }
}
