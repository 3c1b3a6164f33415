//! Lists of words, written as people read them.

use std::collections::HashSet;
use std::sync::OnceLock;

/// A long list of words that is asked for many words: each is looked up, and not compared with all.
pub(in crate::embedded) struct WordList {
    written: &'static str,
    index: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    /// The words of `written`, with spaces between them.
    pub(in crate::embedded) const fn new(written: &'static str) -> Self {
        Self { written, index: OnceLock::new() }
    }
}

/// Words that another may be one of.
pub(in crate::embedded) trait Listed {
    /// Whether `word` (lower case) is one of them.
    fn has(&self, word: &str) -> bool;
}

impl Listed for WordList {
    fn has(&self, word: &str) -> bool {
        self.index.get_or_init(|| self.written.split_ascii_whitespace().collect()).contains(word)
    }
}

/// A few words.
impl Listed for str {
    fn has(&self, word: &str) -> bool {
        self.split_ascii_whitespace().any(|known| known == word)
    }
}
