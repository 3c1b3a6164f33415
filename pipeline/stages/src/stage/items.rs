//! `extract_action_items`: what is to be done, without what is already on the list.

use std::sync::Arc;

use records::{SameThing, Talk, Timestamp};

use super::{Provenance, Stage, StageName};
use crate::{ExtractItems, Failure, ItemDraft, Items, RecentItem, check};

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
    type Input<'a> = (&'a Talk, &'a [RecentItem], Option<Vec<ItemDraft>>);
    type Output = Items;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    /// `surveyed` is the survey's part.
    async fn run<'a>(&'a self, (talk, recent, surveyed): Self::Input<'a>) -> Result<Items, Failure> {
        if !talk.has_words() {
            return Ok(Items::default());
        }
        let drafts = match surveyed {
            Some(part) => part,
            None => self.engine.extract_items(talk).await?,
        };
        let drafts = check::items(drafts, talk);
        let old = recent.iter().map(|item| item.description.clone());
        let compared = old.chain(drafts.iter().map(|draft| draft.description.clone())).collect();
        self.same.read(compared, Vec::new()).await;
        let items = settle(drafts, recent, &*self.same);
        Ok(Items { unread: !self.engine.reads(talk), ..items })
    }
}

/// Keeps one item per topic. A repetition is not created again: it hands its due date to the older one if
/// that has none, be it of this talk or of the last two days.
fn settle(drafts: Vec<ItemDraft>, recent: &[RecentItem], same: &dyn SameThing) -> Items {
    let mut items = Items::default();
    let mut known = same.tasks();
    recent.iter().for_each(|old| known.add(&old.description));
    for draft in drafts {
        // The recent ones come first, behind them the new ones.
        let Some(place) = known.find(&draft.description) else {
            known.add(&draft.description);
            items.new.push(draft);
            continue;
        };
        if let Some(old) = recent.get(place) {
            hand_over(&mut items.due_dates, old, draft.due_at);
        } else if let Some(twin) = items.new.get_mut(place - recent.len()) {
            twin.due_at = twin.due_at.or(draft.due_at);
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
