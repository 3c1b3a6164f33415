//! From what the ledger read to what the stages read, and back.

use ledger::{NewItem, NewMemory, Results, RunInput};
use records::{Event, Structured};
use stages::{Context, Engines, Finalized, Kept, Material, Photo, PromptApp, RecentItem, plan_fan_out};
use store::ITEMS_NOT_READ;

pub(crate) fn material(input: RunInput, photos: Vec<Photo>) -> Material {
    let RunInput { talk, apps, prompt_apps, folders, recent_items, memories } = input;
    let recent = |item: ledger::RecentItem| RecentItem {
        id: item.id,
        description: item.description,
        due_at: item.due_at,
    };
    let context = Context {
        folders,
        recent_items: recent_items.into_iter().map(recent).collect(),
        memories,
        apps,
        prompt_apps: prompt_apps.into_iter().map(|(id, prompt)| PromptApp { id, prompt }).collect(),
    };
    Material { talk, context, photos }
}

pub(crate) fn results(finalized: Finalized, engines: &Engines) -> Results {
    let announcements = plan_fan_out(&finalized);
    let results = match finalized {
        Finalized::Discarded => Results { engine: engines.judge.id().to_owned(), ..Results::default() },
        Finalized::Kept(kept) => kept_results(*kept, engines),
    };
    Results { announcements, ..results }
}

fn kept_results(kept: Kept, engines: &Engines) -> Results {
    let engine = who_understood(engines.describe.id(), kept.items.unread);
    let events = kept.structure.events.into_iter().map(|event| Event {
        title: event.title,
        description: event.description,
        start: event.start,
        duration: event.duration,
        created: false,
    });
    Results {
        structured: Structured {
            title: kept.structure.title,
            overview: kept.structure.overview,
            emoji: kept.structure.emoji,
            category: kept.structure.category,
            events: events.collect(),
        },
        folder_id: kept.structure.folder_id,
        items: kept
            .items
            .new
            .into_iter()
            .map(|item| NewItem { description: item.description, due_at: item.due_at })
            .collect(),
        due_dates: kept.items.due_dates,
        memories: kept
            .memories
            .into_iter()
            .map(|memory| NewMemory { content: memory.content, category: memory.category })
            .collect(),
        embedding: Some((kept.embedding.model, kept.embedding.vector)),
        apps: kept.apps.into_iter().map(|app| (app.app_id, app.content)).collect(),
        photos: kept.photos.into_iter().map(|photo| (photo.id, photo.description)).collect(),
        engine,
        announcements: Vec::new(),
        stages: Vec::new(),
    }
}

/// The engine as it is stored with the result, with what it did not do: an empty list of items must not pass
/// for an answer.
fn who_understood(engine: &str, items_unread: bool) -> String {
    if items_unread { format!("{engine}{ITEMS_NOT_READ}") } else { engine.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overview_says_when_items_were_not_extracted() {
        assert_eq!(who_understood("embedded/5", false), "embedded/5");
        assert_eq!(who_understood("embedded/5", true), "embedded/5, items not read");
    }
}
