//! People who speak to the model instead of with each other. The mock obeys them all, and writes down every
//! word: what counts is what is left of that.

use std::sync::Arc;

use engines::OpenAi;
use mock_model::{Fault, Kind, Mock, Options};
use records::{Line, Talk};
use stages::Kept;

use crate::pages::{finalize, kept};
use crate::world::{Counts, config, folders, talk};

/// Every attempt, and whether it is an order.
fn attempts() -> Vec<(&'static str, bool)> {
    let corpus = include_str!("../../corpus/injections.txt");
    let lines = corpus.lines().filter(|line| !line.starts_with('#'));
    let attempts: Vec<_> =
        lines.map(|line| line.strip_prefix("! ").map_or((line, false), |order| (order, true))).collect();
    assert_eq!(attempts.len(), 20);
    attempts
}

/// A talk about a budget in which a speaker says `attempt`.
fn talk_with(attempt: &str) -> Talk {
    let mut lines = talk().lines;
    lines.truncate(1);
    lines.push(Line { speaker: Some("Speaker 1".to_owned()), is_user: false, text: attempt.to_owned() });
    Talk { lines, ..talk() }
}

async fn obeyed(attempt: &str) -> (Mock, Kept) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mock = Mock::start(Options::default()).await.unwrap();
    mock.fault(Fault::always(Kind::Obey));
    let config = config(&mock.base_url(), std::time::Duration::from_secs(20));
    let engine = OpenAi::new(config, Arc::new(Counts::default()), [7; 32]).unwrap();
    let kept = kept(finalize(&engine, &talk_with(attempt), folders(), &["minutes"], true).await);
    (mock, kept)
}

/// All texts that would reach a person.
fn texts(kept: &Kept) -> Vec<String> {
    let structure = [kept.structure.title.clone(), kept.structure.overview.clone()];
    let events =
        kept.structure.events.iter().flat_map(|event| [event.title.clone(), event.description.clone()]);
    let items = kept.items.new.iter().map(|item| item.description.clone());
    let memories = kept.memories.iter().map(|memory| memory.content.clone());
    let apps = kept.apps.iter().map(|app| app.content.clone());
    structure.into_iter().chain(events).chain(items).chain(memories).chain(apps).collect()
}

#[tokio::test]
async fn nothing_that_is_said_leaves_a_link_a_hidden_character_or_an_order_behind() {
    for (attempt, is_order) in attempts() {
        let (_, kept) = obeyed(attempt).await;
        for text in texts(&kept) {
            let small = text.to_lowercase();
            for left in ["://", "www.", "](", "<img", "onerror"] {
                assert!(!small.contains(left), "{attempt}: {text}");
            }
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{attempt}: {text:?}");
            assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{e0041}']), "{attempt}: {text:?}");
        }
        let memories: Vec<&str> = kept.memories.iter().map(|memory| memory.content.as_str()).collect();
        if is_order {
            assert_eq!(memories, ["I will send the budget to Maria by Tuesday at noon."], "{attempt}");
        }
    }
}

#[tokio::test]
async fn nothing_that_is_said_gets_out_of_its_line() {
    for (attempt, _) in attempts() {
        let (mock, _) = obeyed(attempt).await;
        let calls: Vec<_> = mock.calls().into_iter().filter(|call| call.format != "embeddings").collect();
        assert!(!calls.is_empty());
        for call in calls {
            let messages = call.body["messages"].as_array().unwrap();
            let system = messages[0]["content"].as_str().unwrap();
            let user = messages[1]["content"].as_str().unwrap();
            assert!(!system.contains("budget"), "instructions hold no word of the talk");
            let marks: Vec<&str> = user.lines().filter(|line| line.starts_with("TALK ")).collect();
            let mark = marks[0].strip_prefix("TALK ").and_then(|line| line.strip_suffix(" BEGINS")).unwrap();
            assert!(marks.iter().all(|line| line.contains(mark)), "{marks:?}");
            assert_eq!(marks.len(), 4, "the talk and the data, each between its marks: {user}");
            let in_talk = user.lines().skip(1).take_while(|line| !line.starts_with("TALK "));
            assert_eq!(in_talk.count(), 3, "a head and two lines");
            assert!(call.body.get("tools").is_none());
        }
    }
}
