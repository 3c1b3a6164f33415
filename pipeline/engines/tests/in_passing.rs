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
fn facts_of_another_speaker_name_the_speaker_where_the_name_is_said() {
    let told = "SPEAKER_01: I've started painting, you know, every Monday.";
    let [unnamed] = memories(&format!("SPEAKER_00: Hello there.\n{told}")).try_into().unwrap();
    assert!(unnamed.starts_with("Speaker 1 has started painting"), "{unnamed}");
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

#[test]
fn a_question_and_its_answer_state_a_fact() {
    for (asked, answered, fact) in [
        ("Any allergies?", "Penicillin.", "Speaker 1 is allergic to penicillin"),
        ("Do you smoke?", "No.", "Speaker 1 doesn't smoke"),
        ("Where are you from originally?", "Gdansk.", "Speaker 1 is from Gdansk"),
    ] {
        let talk = format!("SPEAKER_00: Good morning. {asked}\nSPEAKER_01: {answered}");
        assert_eq!(memories(&talk), [fact], "{talk}");
    }
}

#[test]
fn an_appointment_moves_to_the_day_with_which_a_question_is_answered() {
    let found =
        events("SPEAKER_00: Your maths test is on Thursday, right?\nSPEAKER_01: Friday. They moved it.");
    assert_eq!(found, ["Maths test 05-14 09:00"]);
}

#[test]
fn flights_at_six_leave_in_the_morning_and_meetings_at_six_are_in_the_afternoon() {
    assert_eq!(events("SPEAKER_00: My flight is at 6:40 on Sunday."), ["Flight 05-16 06:40"]);
    assert_eq!(events("SPEAKER_00: The meeting is at 6 on Friday."), ["Meeting 05-14 18:00"]);
    assert_eq!(
        events("SPEAKER_00: The general meeting is on Friday at seven."),
        ["General meeting 05-14 19:00"]
    );
}

#[test]
fn names_and_lower_case_labels_of_a_chat_own_their_tasks() {
    let chat = "mo: who can call the provider?\njule: i can do that\nmo: great, i'll pay the bill";
    let found = block_on(Embedded::new().extract_items(&talk(chat))).unwrap();
    let owners: Vec<_> =
        found.iter().map(|item| (item.description.as_str(), item.owner.as_deref())).collect();
    assert_eq!(owners, [("Call the provider", Some("jule")), ("Pay the bill", Some("mo"))]);
}

#[test]
fn an_overview_says_who_talks_about_what_in_the_third_person() {
    let talk_of = "Ana: The boiler is broken again, it leaks.\nBen: We've called the plumber twice about the boiler.\n\
        Ana: I'll call the landlord about the boiler tomorrow.\nBen: Good.";
    let overview = block_on(Embedded::new().describe(&talk(talk_of), &[])).unwrap().overview;
    assert!(overview.starts_with("Ana and Ben talk about the "), "{overview}");
    assert!(
        overview.contains("They've called the plumber") && overview.contains("Next: call the landlord"),
        "{overview}"
    );
    assert!(!overview.contains(" I ") && !overview.contains("We"), "{overview}");
}
