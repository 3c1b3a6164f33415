//! What people agree on and tell in passing, through the engine's own abilities.

#![allow(clippy::unwrap_used, reason = "tests")]

use engines::Embedded;
use futures::executor::block_on;
use records::Talk;
use stages::{Describe, ExtractItems, ExtractMemories};

/// A talk on Wednesday 2027-05-12, 9:45; the first speaker is the user.
fn talk(text: &str) -> Talk {
    let mut lines = Talk::lines_of_text(text);
    let user = lines[0].speaker.clone();
    lines.iter_mut().for_each(|line| line.is_user = line.speaker == user);
    Talk {
        lines,
        started_at: "2027-05-12T09:45:00Z".parse().unwrap(),
        time_zone: chrono_tz::Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

fn events(text: &str) -> Vec<String> {
    let structure = block_on(Embedded::new().describe(&talk(text), &[])).unwrap();
    structure
        .events
        .iter()
        .map(|event| format!("{} {}", event.title, event.start.format("%m-%d %H:%M")))
        .collect()
}

fn memories(text: &str) -> Vec<String> {
    let found = block_on(Embedded::new().extract_memories(&talk(text))).unwrap();
    found.into_iter().map(|memory| memory.content).collect()
}

fn items(text: &str) -> Vec<String> {
    let found = block_on(Embedded::new().extract_items(&talk(text))).unwrap();
    found.into_iter().map(|item| item.description).collect()
}

#[test]
fn an_hour_that_one_offers_and_another_agrees_to_is_an_event() {
    let asked = "SPEAKER_00: I'd like to make an appointment.\nSPEAKER_01: Would Monday at ten work?\n";
    assert_eq!(events(&format!("{asked}SPEAKER_00: That's perfect.")), ["Appointment 05-17 10:00"]);
    assert_eq!(events(&format!("{asked}SPEAKER_00: No, I can't do Mondays.")), [] as [&str; 0]);
}

#[test]
fn a_day_may_be_the_subject_of_what_takes_place_on_it() {
    assert_eq!(events("SPEAKER_00: Friday's the school fair."), ["School fair 05-14 09:00"]);
    assert_eq!(events("SPEAKER_00: Friday's the best day for me."), [] as [&str; 0]);
}

#[test]
fn a_range_of_days_begins_on_the_first() {
    let found = events("SPEAKER_00: The class trip is from the fourteenth to the sixteenth of June.");
    assert_eq!(found, ["Class trip 06-14 09:00"]);
}

#[test]
fn he_and_she_are_the_person_who_was_named_before() {
    assert_eq!(
        memories("SPEAKER_00: Can we come again with my father? He's a builder."),
        ["User's father is a builder"]
    );
}

#[test]
fn facts_of_another_speaker_count_where_the_name_is_said() {
    let told = "SPEAKER_01: I've started painting, you know, every Monday.";
    assert_eq!(memories(&format!("SPEAKER_00: Hello there.\n{told}")), [] as [&str; 0]);
    let [mum] = memories(&format!("SPEAKER_00: Hi Mum.\n{told}")).try_into().unwrap();
    assert!(mum.starts_with("User's mum has started painting"), "{mum}");
}

#[test]
fn a_clause_before_a_question_states() {
    let found = items("SPEAKER_00: The letter still has to be signed, can you call Dr. Roy?");
    assert_eq!(found, ["Sign the letter", "Call Dr. Roy"]);
}

#[test]
fn speech_without_stops_and_apostrophes_keeps_its_tasks_apart() {
    let found = items(
        "so ring the garage tomorrow and see if they can fit me in also ill send helen the recipe and the cat was ill",
    );
    assert!(found[0].starts_with("Ring the garage") && !found[0].contains("recipe"), "{found:?}");
    assert!(found.iter().any(|item| item == "Send helen the recipe"), "{found:?}");
}

#[test]
fn a_title_says_what_belongs_together() {
    let text = "SPEAKER_00: The key for the bike shed is gone.\nSPEAKER_01: Again? Who had the key?\n\
        SPEAKER_00: I'll get a new key for the bike shed cut.";
    let structure = block_on(Embedded::new().describe(&talk(text), &[])).unwrap();
    assert!(structure.title.contains("ey for the bike shed"), "{}", structure.title);
}
