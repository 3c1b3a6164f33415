//! `describe`: title, overview, category, emoji, events, perhaps a folder.

use std::sync::Arc;

use records::{Folder, Talk};

use super::{Provenance, Stage, StageName};
use crate::{Describe, Failure, Structure};

/// The longest title, in characters (DECISIONS §5).
const TITLE_CHARACTERS: usize = 80;

/// Describes a talk.
pub struct DescribeTalk {
    engine: Arc<dyn Describe>,
}

impl DescribeTalk {
    /// Asks `engine`.
    pub fn new(engine: Arc<dyn Describe>) -> Self {
        Self { engine }
    }
}

impl Stage for DescribeTalk {
    const NAME: StageName = "describe";
    type Input<'a> = (&'a Talk, &'a [Folder]);
    type Output = Structure;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    async fn run<'a>(&'a self, (talk, folders): Self::Input<'a>) -> Result<Structure, Failure> {
        let structure = self.engine.describe(talk, folders).await?;
        Ok(Structure {
            title: title(&structure.title),
            // An engine may name a folder that is not the person's: then none fits.
            folder_id: structure.folder_id.filter(|id| folders.iter().any(|folder| folder.id.as_str() == id)),
            ..structure
        })
    }
}

/// At most 80 characters, cut between words where there is a gap, without a trailing stop.
fn title(text: &str) -> String {
    let text = text.trim();
    let cut = match text.char_indices().nth(TITLE_CHARACTERS) {
        None => text,
        Some((end, next)) => {
            let head = &text[..end];
            let gap = if next.is_whitespace() { None } else { head.rfind(char::is_whitespace) };
            gap.map_or(head, |gap| &head[..gap])
        }
    };
    cut.trim_end_matches(|c: char| c == '.' || c == '。' || c.is_whitespace()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_no_trailing_stop() {
        assert_eq!(title(" Lunch with Ana. "), "Lunch with Ana");
    }

    #[test]
    fn a_long_title_is_cut_between_words() {
        let long = "word ".repeat(30);
        let short = title(&long);
        assert_eq!(short.chars().count(), 79, "16 words of 4 letters and 15 gaps");
        assert!(short.ends_with("word"));
        assert_eq!(title(&"x".repeat(100)).chars().count(), TITLE_CHARACTERS, "one word is cut anywhere");
    }
}
