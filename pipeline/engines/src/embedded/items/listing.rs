//! A list that is read out after its heading: "shopping list. Three lemons. Dishwasher tablets."

use std::sync::LazyLock;

use stages::ItemDraft;

use super::{Found, wording};
use crate::embedded::dates::Reference;
use crate::embedded::lexicon::{Listed, WordList};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{Sentence, decapitalised, pattern, words};

/// Longer sentences name no thing of a list.
const LONGEST: usize = 8;

/// The verb of the list that is being read out.
#[derive(Default)]
pub(super) struct Listing {
    verb: Option<&'static str>,
}

impl Listing {
    /// The thing of the list that `sentence` names, where `found` is what the rules read in it.
    pub(super) fn thing(
        &mut self,
        sentence: &Sentence<'_>,
        found: &[Found],
        reference: &Reference,
    ) -> Option<Found> {
        if let Some(heading) = HEADING.captures(&sentence.text) {
            self.verb = Some(if heading.name("pack").is_some() { "pack" } else { "buy" });
            return None;
        }
        let verb = self.verb.filter(|_| found.iter().all(|found| found.as_said))?;
        let said = LEAD.replace(&sentence.text, "");
        // "Oat milk because Noah can't have dairy".
        let said = said.split(" because ").next().unwrap_or_default();
        let says = |word: String| SAYS.has(&word) || word.contains('\'');
        if !(1..=LONGEST).contains(&words(said).count()) || words(said).any(says) {
            return None;
        }
        let description = wording::description(&format!("{verb} {}", decapitalised(said)), false, reference)?;
        let item = ItemDraft { description, owner: None, due_at: None, evidence: None };
        Some(Found { item, refers: None, proposed: false, joint: false, asked: false, as_said: false })
    }
}

/// "Right, shopping list for tonight".
static HEADING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:ok|okay|right|so|now|note|here's|the|my|our)\W+)*(?:shopping\s+list|grocery\s+list|groceries|(?P<pack>packing\s+list|(?:things|stuff)\s+to\s+pack)|(?:things|stuff)\s+to\s+(?:buy|get))(?:\s+for\s+\p{L}+(?:\s+\p{L}+)?)?\W*$",
    )
});
static LEAD: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^\W*(?:(?:and|then|also|oh|plus|some|um|uh)\W+)*"));

/// What the name of a thing does not hold.
static SAYS: WordList = WordList::new(
    "i we you he she it they is are was were be been have has had do does did done can could will would should need needs want wants \
    think know what who where when why how no not yes yeah ok okay right that's thanks thank check call ring get put let see",
);
