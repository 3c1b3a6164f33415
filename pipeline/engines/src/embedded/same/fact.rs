//! What memories are compared by.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::as_said;
use super::numbers;
use super::read::Lately;
use crate::embedded::lexicon::is_stop_word;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{pattern, stem, words};

/// Facts are short, and one more word is another subject: "lives", "sister lives".
const SHARED_OF_FACTS: f64 = 0.8;

static NEGATION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:not|never|no longer|no|without|cancel\w*|\w+n't|stop(?:ped|s)?|quit)\b")
});

static FACTS: LazyLock<Lately<Fact>> = LazyLock::new(Lately::new);

/// What a memory is compared by.
pub(super) struct Fact {
    pub(super) stems: BTreeSet<String>,
    numbers: BTreeSet<String>,
    negative: bool,
}

impl Fact {
    /// What `text` is compared by; read once while the text is in use.
    pub(super) fn of(text: &str) -> Arc<Self> {
        FACTS.read(text, Self::read)
    }

    pub(super) fn read(text: &str) -> Self {
        if let Some(said) = as_said::fact(text) {
            return Self { stems: BTreeSet::from([said]), numbers: BTreeSet::new(), negative: false };
        }
        let words: Vec<String> = words(text).collect();
        Self { numbers: numbers(&words), stems: fact_stems(&words), negative: NEGATION.is_match(text) }
    }

    /// The same fact, of two that share so many stems: the same subject and words up to [`SHARED_OF_FACTS`], equal
    /// numbers, both or neither denied.
    pub(super) fn is_same_sharing(&self, other: &Self, shared: usize) -> bool {
        !self.stems.is_empty()
            && share_of_all(shared, self.stems.len(), other.stems.len()) >= SHARED_OF_FACTS
            && self.negative == other.negative
            && self.numbers == other.numbers
    }
}

/// Which part `shared` is of all stems that two sets of these sizes have together.
fn share_of_all(shared: usize, one: usize, other: usize) -> f64 {
    let all = one + other - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// Facts keep their verbs and their subject: "User lives in Porto" is not "User's sister lives in Porto".
fn fact_stems(words: &[String]) -> BTreeSet<String> {
    words.iter().filter(|word| !is_function_word(word)).map(|word| stem(word)).collect()
}

/// Pronouns, articles and prepositions; ordinary verbs that `is_stop_word` holds too are not meant.
fn is_function_word(word: &str) -> bool {
    is_stop_word(word)
        && !matches!(
            word,
            "need"
                | "keep"
                | "love"
                | "like"
                | "old"
                | "new"
                | "second"
                | "first"
                | "before"
                | "after"
                | "help"
                | "last"
                | "next"
                | "other"
        )
}
