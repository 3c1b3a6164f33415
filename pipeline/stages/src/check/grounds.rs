//! Whether a claim rests on what was said.

use std::{cell::OnceCell, collections::HashSet};

use records::Talk;
use unicode_segmentation::UnicodeSegmentation;

/// How many letters make two words forms of one, roughly: "tiles" and "tiled", "report" and "reports".
const LETTERS: usize = 4;

/// The lines of a talk as evidence. Each is read once, however many claims rest on it: a line may be as long as a talk.
pub(super) struct Grounds<'a> {
    talk: &'a Talk,
    /// The stems of each line and its speaker, once they were asked for.
    said: Vec<OnceCell<HashSet<String>>>,
}

impl<'a> Grounds<'a> {
    pub(super) fn of(talk: &'a Talk) -> Self {
        Self { talk, said: vec![OnceCell::new(); talk.lines.len()] }
    }

    /// Whether `claim` is borne by `evidence`, line numbers from 1: one of them must exist, and it or one
    /// beside it must share a word with the claim. An engine that names no evidence at all (`None`) quotes.
    pub(super) fn bear(&self, claim: &str, evidence: Option<&[u32]>) -> bool {
        let Some(evidence) = evidence else { return true };
        let claimed = stems(claim);
        let near = |number: &u32| {
            let index = usize::try_from(*number).ok()?.checked_sub(1)?;
            self.talk.lines.get(index)?;
            Some(index.saturating_sub(1)..=index + 1)
        };
        let mut lines = evidence.iter().filter_map(near).flatten();
        lines.any(|index| self.said(index).is_some_and(|said| !said.is_disjoint(&claimed)))
    }

    fn said(&self, index: usize) -> Option<&HashSet<String>> {
        let (line, said) = (self.talk.lines.get(index)?, self.said.get(index)?);
        Some(said.get_or_init(|| {
            let mut said = stems(&line.text);
            said.extend(line.speaker.as_deref().map(stems).unwrap_or_default());
            said
        }))
    }
}

/// The beginnings of the words, small; where a script has no gaps between words, its characters.
fn stems(text: &str) -> HashSet<String> {
    let small = text.to_lowercase();
    small.unicode_words().map(|word| word.chars().take(LETTERS).collect()).collect()
}

#[cfg(test)]
mod tests {
    use records::Line;

    use super::*;

    fn bears(claim: &str, evidence: Option<&[u32]>) -> bool {
        let line = |speaker: &str, text: &str| Line {
            speaker: Some(speaker.to_owned()),
            is_user: false,
            text: text.to_owned(),
        };
        let talk = Talk {
            lines: vec![
                line("Anna", "Who takes the tiles?"),
                line("Tom", "I do."),
                line("Anna", "Good night."),
                line("Ken", "明日レポートを送ります。"),
                line("Ken", "Bring the ladder."),
            ],
            started_at: chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default(),
            time_zone: chrono_tz::UTC,
            language: "en".to_owned(),
            user_name: None,
            background: records::Background::default(),
        };
        Grounds::of(&talk).bear(claim, evidence)
    }

    #[test]
    fn evidence_must_exist_and_share_a_word() {
        assert!(bears("Tile the bath", Some(&[1])), "a form of one word");
        assert!(bears("Order the tiles", Some(&[2])), "the line before it");
        assert!(bears("Tom has plans", Some(&[2])), "who said it");
        assert!(bears("明日レポートを送る", Some(&[4])), "no gaps between words");
        assert!(!bears("Buy a yacht", Some(&[1])), "nothing of it was said");
        assert!(bears("A ladder", Some(&[4])), "the line behind it");
        assert!(!bears("A ladder", Some(&[3])), "two lines behind it");
        assert!(!bears("Order tiles", Some(&[4])), "said elsewhere");
        assert!(!bears("Order tiles", Some(&[0, 9])), "no such lines");
        assert!(!bears("Order tiles", Some(&[])), "nothing is named");
    }

    #[test]
    fn an_engine_that_quotes_names_no_evidence() {
        assert!(bears("Order tiles", None));
    }
}
