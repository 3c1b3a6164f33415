//! The names of those who speak: their label is a name, or they say it.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use records::Talk;

use super::is_name;
use crate::embedded::lexicon::is_person;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern};

/// "Hi, I'm Jakob", "hello, this is Renate from the bank", "my name is Ada".
static INTRODUCED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:(?i:hi|hello|hey|morning|good\s+(?:morning|afternoon|evening)|yes|so|and|well|sorry|oh|okay)\b[^.?]{0,25}?[,.!]?\s+)?(?i:i'm|i\s+am|my\s+name\s+is|my\s+name's|this\s+is|it's)\s+(?P<name>\p{Lu}\p{Ll}+)(?:[.,!]|$|\s+(?:from|at|with|here|in|speaking|calling)\b)",
    )
});

/// "Hi Mum", "thanks, Ken": whom the other of two speakers addresses.
static ADDRESSED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?:^|[.!?]\s)\W*(?:(?i:hi|hiya|hello|hey|morning|good\s+(?:morning|afternoon|evening)|thanks|thank\s+you|bye|cheers|sorry|night)[,\s]+)+(?P<name>(?:(?:Mr|Mrs|Ms|Miss|Dr)\.?\s)?\p{Lu}[\p{L}'-]+)(?:[.,!?]|$)",
    )
});

/// Labels of speakers, and what a fact calls them.
pub(super) fn of_speakers(talk: &Talk, user: &str) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let labels: BTreeSet<&str> = talk.lines.iter().filter_map(|line| line.speaker.as_deref()).collect();
    if let [one, other] = labels.iter().collect::<Vec<_>>().as_slice() {
        for line in &talk.lines {
            let Some(found) = ADDRESSED.captures(&line.text) else { continue };
            let whom = if line.speaker.as_deref() == Some(**one) { other } else { one };
            let name = &found["name"];
            if is_person(&name.to_lowercase()) {
                // Of the user's mum the user says "mum".
                if line.is_user {
                    names.insert((**whom).to_owned(), format!("{user}'s {}", name.to_lowercase()));
                }
            } else if is_name(name) {
                names.insert((**whom).to_owned(), name.to_owned());
            }
        }
    }
    for line in &talk.lines {
        let Some(label) = line.speaker.as_deref().filter(|label| !names.contains_key(*label)) else {
            continue;
        };
        let role = label.to_lowercase().split(' ').any(|word| word == "speaker" || is_person(word));
        let named = label.chars().all(|c| c.is_alphabetic() || c == ' ') && !label.is_empty() && !role;
        let said = || {
            INTRODUCED.captures(&line.text).map(|found| found["name"].to_owned()).filter(|name| is_name(name))
        };
        let name = if named { Some(capitalised(label)) } else { said() };
        names.extend(name.map(|name| (label.to_owned(), name)));
    }
    names
}

/// One whose name is not known: "SPEAKER_00" is "Speaker 0", "Vet" is "The vet".
pub(super) fn shown(label: &str) -> String {
    let number = label.strip_prefix("SPEAKER_").and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(number) => format!("Speaker {number}"),
        None if is_person(&label.to_lowercase()) => format!("The {}", label.to_lowercase()),
        None => capitalised(label),
    }
}
