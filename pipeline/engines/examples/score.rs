//! Scores engines on the corpora and prints their columns side by side.
//!
//! `cargo run -p engines --example score` scores the embedded engine. With `LISTEN_OPENAI_BASE_URL` and
//! `LISTEN_OPENAI_MODEL` (and `LISTEN_OPENAI_API_KEY`) in the environment, that model is the second column: it is asked some
//! 600 times. Names of files in `corpus/` may follow, else those of varied, unseen and everyday talk are read.

#![allow(
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    reason = "a program for developers, with parts of a test"
)]

#[path = "../tests/score/mod.rs"]
mod score;

use std::sync::Arc;

use engines::{Embedded, Meter, OpenAi, OpenAiConfig, Patience};
use score::conversation::{Reader, total};
use score::{COLUMNS, Score, Share};
use stages::ExtractItems;

/// Counts nothing.
struct Free;

impl Meter for Free {
    fn tokens(&self, _: &'static str, _: &'static str, _: u64) {}
}

/// The model that the environment names.
fn configured() -> Option<OpenAi> {
    let variable = |name: &str| std::env::var(format!("LISTEN_OPENAI_{name}")).ok();
    let config = OpenAiConfig {
        base_url: variable("BASE_URL")?,
        api_key: variable("API_KEY").map(Into::into),
        model: variable("MODEL")?,
        embed_model: String::new(),
        patience: Patience::default(),
        context_tokens: variable("CONTEXT_TOKENS").and_then(|tokens| tokens.parse().ok()).unwrap_or(128_000),
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    Some(OpenAi::new(config, Arc::new(Free), [7; 32]).unwrap())
}

/// The score of one engine over `corpora`, and of its dates.
fn of<E: Reader + ExtractItems>(engine: &E, corpora: &[&str]) -> (Score, Share) {
    let dates = concat!(
        include_str!("../corpus/spoken_dates.txt"),
        include_str!("../corpus/unseen_dates.txt"),
        include_str!("../corpus/everyday_dates.txt")
    );
    let sets = [
        ("O", "2027-03-09T09:00:00Z"),
        ("P", "2026-09-16T14:30:00Z"),
        ("Q", "2027-02-11T10:20:00Z"),
        ("S", "2027-06-08T15:40:00Z"),
        ("T", "2027-06-08T15:40:00Z"),
    ];
    let mut resolved = Share::default();
    for (set, said_at) in sets {
        let share = score::dates::score(engine, dates, set, said_at.parse().unwrap());
        (resolved.hits, resolved.of) = (resolved.hits + share.hits, resolved.of + share.of);
    }
    (total(engine, corpora), resolved)
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let all = [
        "varied_open.json",
        "varied_blind.json",
        "unseen_open.json",
        "unseen_blind.json",
        "everyday_open.json",
        "everyday_blind.json",
    ];
    let names = if names.is_empty() { all.map(str::to_owned).to_vec() } else { names };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/");
    let read = |name: &String| std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    let texts: Vec<String> = names.iter().map(read).collect();
    let corpora: Vec<&str> = texts.iter().map(String::as_str).collect();

    let mut columns = vec![("embedded".to_owned(), of(&Embedded::new(), &corpora))];
    if let Some(model) = configured() {
        // Its connections need a runtime of their own around them.
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        columns.push(("model".to_owned(), of(&model, &corpora)));
    }
    println!("\n{:<12}{}", "", columns.iter().map(|(name, _)| format!("{name:>16}")).collect::<String>());
    for (name, share) in COLUMNS {
        let row = columns.iter_mut().map(|(_, (score, _))| format!("{:>16}", percent(*share(score))));
        println!("{name:<12}{}", row.collect::<String>());
    }
    let dates = columns.iter().map(|(_, (_, dates))| format!("{:>16}", percent(*dates)));
    println!("{:<12}{}", "dates", dates.collect::<String>());
}

fn percent(share: Share) -> String {
    format!("{share} {:>3} %", share.percent())
}
