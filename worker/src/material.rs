//! From what the ledger read to what the stages read, and back.

use std::collections::HashMap;

use ledger::{Content, NewItem, NewMemory, Results, RunInput};
use records::{Event, Line, Segment, Structured, Talk};
use stages::{Context, Engines, Finalized, Kept, Material, Photo, PromptApp, RecentItem, plan_fan_out};
use store::ITEMS_NOT_READ;

pub(crate) fn material(input: RunInput, photos: Vec<Photo>) -> Material {
    let user_name = input.user_name.as_deref();
    let lines = match &input.content {
        Content::Text(text) => Talk::lines_of_text(text),
        Content::Segments(segments) => named_lines(segments, user_name, input.people),
    };
    Material {
        talk: Talk {
            lines,
            started_at: input.started_at,
            // As it is now, not as it was at the admission: dates are to be in the zone that the person lives in (DESIGN §6).
            // The ledger keeps only names that are known; should one be dropped from the list, UTC is honest.
            time_zone: input.time_zone.parse().unwrap_or_default(),
            language: input.language,
            user_name: input.user_name,
            background: input.background,
        },
        context: Context {
            folders: input.folders,
            recent_items: input
                .recent_items
                .into_iter()
                .map(|item| RecentItem { id: item.id, description: item.description, due_at: item.due_at })
                .collect(),
            memories: input.memories,
            apps: input.apps,
            prompt_apps: input.prompt_apps.into_iter().map(|(id, prompt)| PromptApp { id, prompt }).collect(),
        },
        photos,
    }
}

/// The lines of a transcript. Speakers go by the names that the developer interface shows (DECISIONS §3, "speaker").
fn named_lines(segments: &[Segment], user_name: Option<&str>, people: Vec<(String, String)>) -> Vec<Line> {
    let people: HashMap<String, String> = people.into_iter().collect();
    let name = |segment: &Segment| match segment.person_id.as_ref().and_then(|person| people.get(person)) {
        _ if segment.is_user => user_name.unwrap_or("User").to_owned(),
        Some(name) => name.clone(),
        None => segment.speaker_id.map_or_else(|| "Speaker".to_owned(), |number| format!("Speaker {number}")),
    };
    let line = |segment: &Segment| Line {
        speaker: Some(name(segment)),
        is_user: segment.is_user,
        text: segment.text.clone(),
    };
    segments.iter().map(line).collect()
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

    fn segment(speaker_id: i32, is_user: bool, person: Option<&str>) -> Segment {
        Segment {
            id: None,
            text: "Good morning".to_owned(),
            speaker: None,
            speaker_id: Some(speaker_id),
            is_user,
            person_id: person.map(str::to_owned),
            start: 0.0,
            end: 1.0,
        }
    }

    #[test]
    fn speakers_have_the_names_the_user_gave() {
        let segments = [
            segment(0, true, None),
            segment(1, false, Some("p1")),
            segment(2, false, Some("unknown")),
            segment(3, false, None),
            segment(4, true, Some("p1")),
        ];
        let people = vec![("p1".to_owned(), "Ada".to_owned())];
        let lines = named_lines(&segments, Some("Kim"), people);
        let names: Vec<_> = lines.iter().map(|line| line.speaker.as_deref().unwrap_or("")).collect();
        assert_eq!(names, ["Kim", "Ada", "Speaker 2", "Speaker 3", "Kim"]);
    }
}
