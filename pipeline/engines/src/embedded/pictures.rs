//! A talk in which nothing was said, and pictures were taken: it is about what they show.

use records::{Line, Talk};

use super::language::Language;
use super::text::shortened;

/// The longest overview of descriptions that no sentence stands out of, in characters.
const LONGEST: usize = 500;

/// The pictures of `talk` as its lines, where it has no others.
pub(super) fn alone(talk: &Talk) -> Option<Talk> {
    let pictures = &talk.background.pictures;
    if talk.has_words() || pictures.is_empty() {
        return None;
    }
    let lines = pictures.iter().map(|shown| Line { speaker: None, is_user: false, text: shown.clone() });
    Some(Talk { lines: lines.collect(), ..talk.clone() })
}

/// `chosen` of what is `shown`, told as what pictures show.
pub(super) fn overview(shown: &Talk, chosen: String) -> String {
    let all = || shown.lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
    let told = if chosen.is_empty() { shortened(&all(), LONGEST) } else { chosen };
    if Language::of(shown).is_english() { format!("Pictures show: {told}") } else { told }
}
