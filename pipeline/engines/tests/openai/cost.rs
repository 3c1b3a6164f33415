//! What a conversation costs: calls and tokens on the corpus, counted by the mock, beside the naive way
//! (a full prompt for each of judge, description, items and memories) and beside one single prompt.
//!
//! `cargo test -p engines --test openai cost -- --nocapture` prints the table; `docs/COST.md` shows it.

use std::sync::Arc;
use std::time::Duration;

use engines::{OpenAi, OpenAiConfig};
use mock_model::{Call, Mock, Options};
use records::{Talk, Timestamp};
use serde_json::Value;
use stages::{Describe, ExtractItems, ExtractMemories, Judge};

use crate::pages::finalize;
use crate::world::{Counts, config, folders};

/// Calls of the model that reads, and their tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) calls: u64,
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
    pub(crate) completion: u64,
}

impl Cost {
    /// Of the calls so far, embeddings apart: they are cheap, and the same in every way.
    fn of(mock: &Mock) -> Self {
        let reads = |call: &&Call| call.format != "embeddings";
        mock.calls().iter().filter(reads).fold(Self::default(), |sum, call| Self {
            calls: sum.calls + 1,
            prompt: sum.prompt + call.prompt_tokens,
            cached: sum.cached + call.cached_tokens,
            completion: sum.completion + call.completion_tokens,
        })
    }

    pub(crate) fn tokens(self) -> u64 {
        self.prompt + self.completion
    }
}

/// One set of conversations, read in three ways.
pub(crate) struct Row {
    pub(crate) set: &'static str,
    pub(crate) conversations: usize,
    pub(crate) naive: Cost,
    pub(crate) single: Cost,
    pub(crate) ours: Cost,
}

/// The sets of the corpus, and the longest talk that the service takes as one of its own.
fn sets() -> Vec<(&'static str, Vec<Talk>)> {
    let corpus = |text: &str| -> Vec<Talk> {
        let read: Value = serde_json::from_str(text).unwrap();
        let reference: Timestamp = read["reference"].as_str().unwrap().parse().unwrap();
        let talks = read["conversations"].as_array().unwrap().iter();
        talks.map(|conversation| talk(conversation["text"].as_str().unwrap(), reference)).collect()
    };
    let developed = include_str!("../../corpus/conversations.json");
    let held_out = include_str!("../../corpus/held_out.json");
    let (mut long, began) = (String::new(), corpus(developed)[0].started_at);
    while long.len() < 100_000 {
        for talk in corpus(developed).iter().chain(&corpus(held_out)) {
            talk.lines.iter().for_each(|line| long.push_str(&format!("{}\n", line.text)));
        }
    }
    vec![
        ("developed against", corpus(developed)),
        ("held out", corpus(held_out)),
        ("100,000 characters", vec![talk(&long, began)]),
    ]
}

fn talk(text: &str, started_at: Timestamp) -> Talk {
    Talk {
        lines: Talk::lines_of_text(text),
        started_at,
        time_zone: chrono_tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

/// A mock and an engine that knows it to have that much context.
async fn run(options: Options, context_tokens: u32) -> (Mock, OpenAi) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mock = Mock::start(options).await.unwrap();
    let config = OpenAiConfig { context_tokens, ..config(&mock.base_url(), Duration::from_secs(60)) };
    let engine = OpenAi::new(config, Arc::new(Counts::default()), [7; 32]).unwrap();
    (mock, engine)
}

/// Reads every set in every way. The prompts of the other two ways hold the whole talk, however long.
pub(crate) async fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (set, talks) in sets() {
        let [naive, single] =
            [run(Options::default(), 1_000_000).await, run(Options::default(), 1_000_000).await];
        let ours = run(Options::default(), 16_384).await;
        for talk in &talks {
            // One after the other: the kindest to the prefix cache.
            naive.1.judge(talk).await.unwrap();
            naive.1.describe(talk, &folders()).await.unwrap();
            naive.1.extract_items(talk).await.unwrap();
            naive.1.extract_memories(talk).await.unwrap();
            single.1.survey(talk, &folders()).await.unwrap();
            finalize(&ours.1, talk, folders(), &[], false).await.unwrap();
        }
        let [naive, single, ours] = [&naive.0, &single.0, &ours.0].map(Cost::of);
        rows.push(Row { set, conversations: talks.len(), naive, single, ours });
    }
    rows
}

/// How long a conversation with an app takes, and all its calls one after the other, when every call takes
/// `latency`.
#[allow(dead_code, reason = "the bench shows it; a test does not measure time")]
pub(crate) async fn wall(latency: Duration) -> (Duration, Duration) {
    let (mock, engine) = run(Options { latency, ..Options::default() }, 16_384).await;
    let talk = sets().remove(0).1.remove(0);
    let began = tokio::time::Instant::now();
    finalize(&engine, &talk, folders(), &["minutes", "decisions"], false).await.unwrap();
    let calls = u32::try_from(mock.calls().len()).unwrap();
    (began.elapsed(), latency * calls)
}

/// The table, as `docs/COST.md` has it.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| Set | Conversations | Way | Calls | Prompt tokens | of them cached | Completion tokens | Against one prompt |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for Row { set, conversations, naive, single, ours } in rows {
        for (way, cost) in [("four prompts", naive), ("one prompt", single), ("listen", ours)] {
            let ratio = cost.tokens() as f64 / single.tokens() as f64;
            let Cost { calls, prompt, cached, completion } = cost;
            table.push_str(&format!(
                "| {set} | {conversations} | {way} | {calls} | {prompt} | {cached} | {completion} | {ratio:.2} |\n"
            ));
        }
    }
    table
}

#[tokio::test]
async fn a_conversation_costs_hardly_more_than_one_prompt() {
    let rows = rows().await;
    println!("{}", table(&rows));
    for Row { set, naive, single, ours, .. } in rows {
        assert!(ours.tokens() * 2 <= single.tokens() * 3, "{set}: {ours:?} against {single:?}");
        assert!(ours.tokens() * 2 < naive.tokens(), "{set}: {ours:?} against {naive:?}");
        assert_eq!(single.cached, 0, "{set}: nothing is asked twice");
    }
}
