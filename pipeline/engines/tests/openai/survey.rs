//! One reading for three stages, in one part or several.

use std::sync::Arc;
use std::time::Duration;

use engines::{OpenAi, OpenAiConfig};
use mock_model::{Fault, Kind, Mock, Options};
use records::{Background, Line, Meeting, Talk};
use stages::Interrupted;

use crate::pages::{finalize, kept};
use crate::world::{Counts, config, folders, talk};

async fn engine(options: Options, context_tokens: u32) -> (Mock, OpenAi) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mock = Mock::start(options).await.unwrap();
    let config = OpenAiConfig { context_tokens, ..config(&mock.base_url(), Duration::from_secs(20)) };
    let engine = OpenAi::new(config, Arc::new(Counts::default()), [7; 32]).unwrap();
    (mock, engine)
}

/// A talk whose every line is a task of its own.
fn long_talk(lines: usize) -> Talk {
    let line = |number: usize| Line {
        speaker: Some("Anna".to_owned()),
        is_user: true,
        text: format!(
            "I will paint fence number {number} of the {number}th garden. {}",
            "And so on. ".repeat(20)
        ),
    };
    Talk { lines: (0..lines).map(line).collect(), ..talk() }
}

fn stages_asked(mock: &Mock) -> Vec<String> {
    mock.calls().iter().map(|call| call.stages.join("+")).collect()
}

#[tokio::test]
async fn a_talk_is_paid_for_once_and_not_once_a_stage() {
    let (mock, engine) = engine(Options::default(), 16_384).await;
    let kept = kept(finalize(&engine, &talk(), folders(), &[], true).await);
    let mut asked = stages_asked(&mock);
    asked.sort();
    assert_eq!(asked, ["describe+extract_action_items+extract_memories", "embed"]);
    assert!(kept.structure.title.starts_with("I will send the budget"), "{kept:?}");
    assert_eq!((kept.items.new.len(), kept.memories.len()), (1, 1), "{kept:?}");
    assert!(kept.embedding.model.starts_with("openai:vectors@"), "{}", kept.embedding.model);
}

#[tokio::test]
async fn two_waves_of_calls_are_the_longest_chain() {
    let options = Options { latency: Duration::from_millis(200), ..Options::default() };
    let (mock, engine) = engine(options, 16_384).await;
    kept(finalize(&engine, &talk(), folders(), &["minutes", "decisions"], false).await);
    let calls = mock.calls();
    assert_eq!(calls.len(), 4, "a survey, a vector, two apps");
    let (apps, first): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.stages == ["trigger_apps"]);
    let overlap = |one: &mock_model::Call, other: &mock_model::Call| {
        one.began_ms < other.ended_ms && other.began_ms < one.ended_ms
    };
    assert!(overlap(first[0], first[1]), "read and embedded at once: {calls:?}");
    assert!(overlap(apps[0], apps[1]), "apps run at once: {calls:?}");
}

#[tokio::test]
async fn a_talk_longer_than_the_context_is_read_in_parts_and_described_as_one() {
    let (mock, engine) = engine(Options { context_tokens: 4_096, ..Options::default() }, 4_096).await;
    let talk = long_talk(60);

    let kept = kept(finalize(&engine, &talk, folders(), &["minutes"], true).await);

    let asked = stages_asked(&mock);
    let surveys = asked.iter().filter(|stages| stages.contains('+')).count();
    assert!(surveys > 2, "{asked:?}");
    assert_eq!(asked.iter().filter(|stages| *stages == "survey").count(), 1, "one description of them all");
    assert!(mock.calls().iter().all(|call| call.was_answered()), "no part was too long: {asked:?}");
    let items = &kept.items.new;
    assert!(items.len() >= surveys - 1, "every part had its say: {items:?}");
    assert_eq!(kept.apps.len(), 1);
}

#[tokio::test]
async fn a_context_that_is_smaller_than_was_set_is_learnt_and_costs_no_attempt() {
    let (mock, engine) = engine(Options { context_tokens: 4_096, ..Options::default() }, 65_536).await;
    let talk = long_talk(600);
    kept(finalize(&engine, &talk, folders(), &[], true).await);
    let refused = || mock.calls().iter().filter(|call| !call.was_answered()).count();
    let learning = refused();
    assert!(learning > 5, "more than a job has attempts: {learning}");
    kept(finalize(&engine, &talk, folders(), &[], true).await);
    assert_eq!(refused(), learning, "it is known now");
}

/// A meeting with everything that a client may send of it.
fn endless_meeting() -> Background {
    let long = "会議".repeat(250);
    let meeting = Meeting {
        title: Some(long.clone()),
        participants: vec![long.clone(); 40],
        agenda: Some(long.repeat(200)),
    };
    Background { kind: Some(long), meeting: Some(meeting), ..Background::default() }
}

/// The same with twenty pictures, each described at length.
fn endless_meeting_with_pictures() -> Background {
    Background { pictures: vec!["会議".repeat(500); 20], ..endless_meeting() }
}

#[tokio::test]
async fn a_meeting_of_endless_names_is_read_like_any_other() {
    let (mock, engine) = engine(Options { context_tokens: 4_096, ..Options::default() }, 4_096).await;
    let talk = Talk { background: endless_meeting_with_pictures(), ..long_talk(60) };
    kept(finalize(&engine, &talk, folders(), &["minutes"], true).await);
    assert!(mock.calls().iter().all(|call| call.was_answered()), "{:?}", stages_asked(&mock));
}

#[tokio::test]
async fn what_puts_parts_together_leaves_room_for_what_stands_before_them() {
    let (mock, engine) = engine(Options::default(), 4_096).await;
    let most_together = async |talk: Talk| {
        let before = mock.calls().len();
        kept(finalize(&engine, &talk, folders(), &[], true).await);
        let calls = mock.calls().split_off(before);
        let merges = calls.iter().filter(|call| call.stages == ["survey"]);
        let told = |call: &mock_model::Call| {
            call.body["messages"][1]["content"].as_str().unwrap().matches("\"overview\":").count()
        };
        merges.map(told).max()
    };
    let talk = long_talk(90);
    assert_eq!(most_together(talk.clone()).await, Some(5));
    assert_eq!(most_together(Talk { background: endless_meeting(), ..talk.clone() }).await, Some(3));
    let pictured = Talk { background: endless_meeting_with_pictures(), ..talk };
    assert_eq!(most_together(pictured).await, Some(2));
}

#[tokio::test]
async fn a_prompt_that_is_too_long_by_what_we_tell_teaches_nothing_of_the_server() {
    let (mock, engine) = engine(Options { context_tokens: 16_384, ..Options::default() }, 16_384).await;
    let mut many = folders();
    many[0].description = Some("word ".repeat(16_000));
    let failed = finalize(&engine, &talk(), many, &[], true).await;
    assert!(
        matches!(&failed, Err(Interrupted::Failed(failure)) if failure.code == job::FailureCode::ModelRejected),
        "{failed:?}"
    );
    let before = mock.calls().len();

    kept(finalize(&engine, &long_talk(110), folders(), &[], true).await);

    let asked = stages_asked(&mock).split_off(before);
    let surveys = asked.iter().filter(|stages| stages.contains('+')).count();
    assert_eq!(surveys, 1, "what fits the context is read at once, as before: {asked:?}");
}

#[tokio::test]
async fn a_part_of_a_survey_that_makes_no_sense_is_asked_for_by_itself() {
    let (mock, engine) = engine(Options::default(), 16_384).await;
    mock.fault(Fault::once(Kind::Partial));
    let kept = kept(finalize(&engine, &talk(), folders(), &[], true).await);
    let mut asked = stages_asked(&mock);
    asked.sort();
    assert_eq!(asked, ["describe+extract_action_items+extract_memories", "embed", "extract_memories"]);
    assert_eq!(kept.memories.len(), 1);
}

#[tokio::test]
async fn a_survey_that_makes_no_sense_at_all_is_malformed() {
    let (mock, engine) = engine(Options::default(), 16_384).await;
    mock.fault(Fault::once(Kind::WrongSchema).of("describe"));
    let failed = finalize(&engine, &talk(), folders(), &[], true).await;
    assert!(
        matches!(&failed, Err(Interrupted::Failed(failure)) if failure.code == job::FailureCode::ModelMalformed),
        "{failed:?}"
    );
    kept(finalize(&engine, &talk(), folders(), &[], true).await);
}
