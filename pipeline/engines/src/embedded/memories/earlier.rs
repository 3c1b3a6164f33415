//! What was said before a sentence.

use std::sync::LazyLock;

use super::answers;
use super::forms::Answer;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{Sentence, pattern};

/// What was said before a sentence.
#[derive(Default)]
pub(super) struct Earlier {
    /// How many candidates there were before it.
    pub(super) candidates: usize,
    pub(super) line: usize,
    /// Who was named last, as a fact calls them, and how many sentences ago.
    pub(super) meant: Option<String>,
    ago: usize,
    /// A quotation goes on.
    quoted: bool,
    /// The last sentence that may be a question, its speaker and its line.
    question: Option<(String, Option<String>, usize)>,
}

impl Earlier {
    /// A pronoun keeps in mind whom it means.
    pub(super) fn remember(&mut self, sentence: &str, meant: Option<String>) {
        self.ago = if KEEPS.is_match(sentence) { 1 } else { self.ago + 1 };
        if meant.is_some() || self.ago > NAME_LASTS {
            (self.meant, self.ago) = (meant, 0);
        }
    }

    /// What `sentence` tells where another has asked right before it.
    pub(super) fn answered(&self, sentence: &Sentence<'_>) -> Option<Answer> {
        let (question, asker, line) = self.question.as_ref()?;
        let another = *line != sentence.line && (asker.is_none() || asker.as_deref() != sentence.speaker);
        another.then(|| answers::read(question, &sentence.text)).flatten()
    }

    /// Recognizers write no question marks: what states nothing for certain may ask.
    pub(super) fn note_question(&mut self, sentence: &Sentence<'_>) {
        let states = sentence.text.ends_with(['.', '!', ',', ';', ':']);
        self.question =
            (!states).then(|| (sentence.text.clone(), sentence.speaker.map(str::to_owned), sentence.line));
    }

    /// `sentence` without what it quotes; `None` when nothing is left.
    pub(super) fn unquoted<'t>(&mut self, mut sentence: Sentence<'t>) -> Option<Sentence<'t>> {
        if sentence.line != self.line {
            self.quoted = false;
        }
        if self.quoted || sentence.text.contains(QUOTES) {
            let mut own = String::new();
            for (at, part) in sentence.text.split(QUOTES).enumerate() {
                self.quoted ^= at > 0;
                if !self.quoted {
                    own.push_str(part);
                }
            }
            sentence.text = own;
        }
        (!sentence.text.trim().is_empty()).then_some(sentence)
    }
}

/// For how many sentences "he" may mean the last one named.
const NAME_LASTS: usize = 4;

static KEEPS: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:he|she|his|her|him)\b"));

const QUOTES: [char; 3] = ['"', '\u{201c}', '\u{201d}'];
