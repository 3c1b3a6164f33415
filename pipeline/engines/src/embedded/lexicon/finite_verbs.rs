//! Words that end a noun phrase: verbs in narrative forms, and adverbs. "The fan spins" is about the
//! fan, "calf twice" about the calf. A form that is as often a noun ("plans", "runs", "lead") is not among them.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Third persons that are seldom plurals.
const PRESENT: &str = "asks says goes gets gives takes comes needs wants looks seems keeps feels thinks knows makes begins starts \
    opens closes brings buys sells eats drives rides sings reads writes speaks tells grows falls rises hurts breaks fails loses \
    wins moves leaves arrives stays lives dies sleeps hears sees holds costs means helps tries serves adds sends sits stands happens \
    believes agrees loves hates expects spins slips folds lies pays suits raises meets turns carries becomes belongs catches \
    chooses cleans collects contains continues covers creates decides deserves discovers enjoys enters exists explains fights fills finds \
    finishes fits follows forgets freezes hangs hides hits hopes includes invites joins jumps lets likes listens misses offers \
    owns plays prefers produces promises pulls pushes puts reaches realizes refuses remains remembers replaces replies requires \
    returns sends settles shines shuts sinks sounds spends spreads stands suffers supports teaches throws tends understands visits waits \
    wakes walks warns washes watches wears worries trips swells lands arrive arrives gets flies play swim rains snows smells tastes glows";

/// Past tenses that do not end in "ed".
const PAST: &str = "came drove dug built gave fell ran went got took made said told saw knew thought felt kept held brought \
    bought caught taught found sent spent paid met threw wore swore tore bore froze spoke wrote rode shook stood understood \
    sat slept began drank rang sang sank swam hung stuck swung spun became forgot ate bit hid slid fought sought woke grew flew drew blew \
    broke chose stole rose lost won left meant heard led sold learnt learned burnt dreamt dealt fed lent bent swept wept crept";

/// What says how, where or how often.
const ADVERBS: &str = "twice once everywhere somewhere nowhere anywhere upstairs downstairs together apart forward backwards instead \
    almost again already soon often always never ever yet still perhaps maybe anyway somehow rather quite upstream downstream slower \
    faster sooner better worse abroad outside inside ahead aside btw lol heyy hmm";

/// Nouns and adjectives that end in "ly", and no adverbs.
const LY_NOUNS: &str = "family reply supply july italy assembly butterfly anomaly belly jelly ally bully fly rally tally lily \
    monopoly melancholy homily dolly trolley poly daily weekly monthly yearly quarterly early elderly folly gully holly";

static FINITE: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| [PRESENT, PAST, ADVERBS].into_iter().flat_map(str::split_whitespace).collect());
static LY: LazyLock<HashSet<&'static str>> = LazyLock::new(|| LY_NOUNS.split_whitespace().collect());

/// Whether `word` (lower case) ends a noun phrase.
pub(in crate::embedded) fn ends_a_phrase(word: &str) -> bool {
    FINITE.contains(word) || (word.len() > 4 && word.ends_with("ly") && !LY.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_and_adverbs_end_a_phrase_and_nouns_do_not() {
        assert!(["spins", "drove", "twice", "differently", "lovely"].into_iter().all(ends_a_phrase));
        assert!(!["plans", "family", "supply", "oven", "fans", "reply"].into_iter().any(ends_a_phrase));
    }
}
