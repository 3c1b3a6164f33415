//! Verbs of tasks, verbs that are none, and which of them mean the same.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Base forms with which a task begins when it is told in the imperative.
const TASK_VERBS: &str = "accept accompany add adjust announce analyse analyze apply apologise apologize approve archive arrange ask assemble assign assess attach attend backup bake block book \
    borrow bring build buy calculate call cancel carry change charge chase check choose clean clear close collect compare complete confirm \
    contact convert cook copy correct create decorate cut debug decline delete deliver deploy design disable discuss document donate download empty draft \
    drop edit email enable enrol enroll escalate evaluate estimate exchange execute extend feed fetch file fill finalise finalize finish fix follow \
    forward generate hang get grab hand hire implement include inform insert inspect install interview investigate invite iron learn lock mail \
    measure memorise memorize mend meet merge message migrate monitor mow move mop notify negotiate obtain open order organise organize outline pack paint park pay phone pick ping plan \
    plant polish practise post prepare present print process proofread propose provide publish purchase raise read rebook rearrange rehearse reconcile recruit refuel reimburse reinstall restock record refill refund register remind \
    remove renew rent reorder repair replace reply report request reschedule research reserve reset resolve respond restart restore return \
    review revise rewrite ring roll rotate run save scan schedule secure sell send separate sew sharpen set share ship shop show sign sort speak start \
    store submit submit subscribe summarise summarize supply swap sweep switch take talk teach tell test text tidy track train transfer translate trim tow turn \
    unload unpack unsubscribe update upgrade upload vacuum validate verify visit wash water wire withdraw wrap write";

/// Verbs that follow "I'll", "we should", "can you" without being a task.
pub(in crate::embedded) const VAGUE_VERBS: &[&str] = &[
    "be",
    "become",
    "say",
    "think",
    "guess",
    "know",
    "believe",
    "suppose",
    "admit",
    "agree",
    "assume",
    "bet",
    "hope",
    "wish",
    "feel",
    "love",
    "like",
    "hate",
    "miss",
    "hear",
    "imagine",
    "remember",
    "understand",
    "mean",
    "wait",
    "have",
    "need",
    "want",
    "stay",
    "live",
    "sleep",
    "die",
    "cry",
    "laugh",
    "enjoy",
    "worry",
    "wonder",
    "seem",
    "appear",
    "happen",
    "exist",
    "depend",
    "stop",
    "keep",
    "hold",
    "let",
    "see",
    "explain",
    "repeat",
    "elaborate",
    "go",
    "come",
    "try",
    "never",
    "not",
    "always",
    "probably",
    "lose",
    "win",
    "fail",
    "begin",
    "continue",
    "focus",
    "catch",
    "walk",
    "cover",
    "care",
    "stick",
    "skip",
    "afford",
    "expect",
    "consider",
    "move on",
];

/// Verbs of telling, which name no topic; matched in their "-s" form as well.
const NARRATIVE_VERBS: &str = "prefer expire speak fail cost save insist turn saw lost won sound cover mention hold bet mind swear \
    matter belong contain involve remain suggest decide claim tend manage finish join sit stand eat drink drive studies quit allow mean meant thought brought bought \
    paid sent wrote felt found left met ran sold spent taught caught began broke chose drew fell flew grew heard hid hit led lay rose sang sank slept spoke stole struck \
    wore woke cheap cheapest expensive furious happy sad tired busy hard easy nice late early sick";

/// Participles that do not end in "ed".
const IRREGULAR: &[(&str, &str)] = &[
    ("sent", "send"),
    ("bought", "buy"),
    ("paid", "pay"),
    ("written", "write"),
    ("rewritten", "rewrite"),
    ("done", "do"),
    ("made", "make"),
    ("built", "build"),
    ("brought", "bring"),
    ("taken", "take"),
    ("sold", "sell"),
    ("told", "tell"),
    ("set", "set"),
    ("cut", "cut"),
    ("fed", "feed"),
    ("read", "read"),
    ("run", "run"),
    ("shown", "show"),
    ("found", "find"),
    ("chosen", "choose"),
    ("withdrawn", "withdraw"),
    ("taught", "teach"),
];

static TASK: LazyLock<HashSet<&'static str>> = LazyLock::new(|| TASK_VERBS.split_whitespace().collect());
static VAGUE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| VAGUE_VERBS.iter().copied().collect());
static NARRATIVE: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| NARRATIVE_VERBS.split_whitespace().collect());
static PARTICIPLES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let regular = TASK_VERBS
        .split_whitespace()
        .flat_map(|verb| participles(verb).into_iter().map(move |form| (form, verb)));
    regular.chain(IRREGULAR.iter().map(|(form, verb)| ((*form).to_owned(), *verb))).collect()
});

/// The possible regular participles of `verb`; the wrong ones are words that nobody says.
fn participles(verb: &str) -> Vec<String> {
    if let Some(stem) = verb.strip_suffix('e') {
        return vec![format!("{stem}ed")];
    }
    let mut forms = vec![format!("{verb}ed")];
    if let Some(stem) = verb.strip_suffix('y') {
        forms.push(format!("{stem}ied"));
    }
    if let Some(last) = verb.chars().last() {
        forms.push(format!("{verb}{last}ed"));
    }
    forms
}

/// The base form of a gerund such as "sending": a known verb, else what is left without its ending.
pub(in crate::embedded) fn base_of_gerund(word: &str) -> Option<String> {
    let stem = word.strip_suffix("ing").filter(|stem| stem.len() > 1)?;
    let mut single = stem.chars();
    single.next_back();
    let known = [stem.to_owned(), format!("{stem}e"), single.as_str().to_owned()];
    Some(known.into_iter().find(|verb| is_task_verb(verb)).unwrap_or_else(|| stem.to_owned()))
}

/// Every base form, for building patterns.
pub(in crate::embedded) fn task_verbs() -> impl Iterator<Item = &'static str> {
    TASK_VERBS.split_whitespace()
}

/// Whether `word` (lower case) is the base form of a verb of tasks.
pub(in crate::embedded) fn is_task_verb(word: &str) -> bool {
    TASK.contains(word)
}

/// Whether `word` (lower case) is a verb that makes no task.
pub(in crate::embedded) fn is_vague_verb(word: &str) -> bool {
    VAGUE.contains(word)
}

/// Whether `word` (lower case) tells of something without naming a topic, such as "prefers" or "sent".
pub(in crate::embedded) fn is_narrative_verb(word: &str) -> bool {
    let base = word.strip_suffix('s').unwrap_or(word);
    let told = |word: &str| NARRATIVE.contains(word);
    told(word) || told(base) || (base != word && is_vague_verb(base))
}

/// The base form of a participle such as "renewed" or "paid".
pub(in crate::embedded) fn base_of_participle(word: &str) -> Option<&'static str> {
    PARTICIPLES.get(word).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participles_lead_back_to_their_verbs() {
        for (form, verb) in [
            ("renewed", "renew"),
            ("paid", "pay"),
            ("replied", "reply"),
            ("shipped", "ship"),
            ("updated", "update"),
        ] {
            assert_eq!(base_of_participle(form), Some(verb));
        }
        assert_eq!(base_of_participle("red"), None);
    }
}
