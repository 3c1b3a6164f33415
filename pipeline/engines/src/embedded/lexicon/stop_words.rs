//! Words that carry no topic.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Function words, auxiliaries, and the commonest verbs and adverbs of talk.
const STOP_WORDS: &str = "a about above actually after again against all almost along already alright also although \
    always am an and another any anybody anyone anything anyway are aren't around as ask at away back be became because \
    become been before being below besides best better between both but by bye can can't cannot come comes coming could couldn't \
    did didn't different do does doesn't doing don't done down due during each earlier sooner eight either else enough especially etc even ever \
    every everybody everyone everything exactly far few fine first five for four from further get gets getting give given gives \
    go goes going gone gonna good got gotta great guess guy guys had hadn't happen happened happens has hasn't have haven't having \
    he he'd he'll he's hear heard hello help her here here's hers herself hey hi him himself his hmm how how's however \
    i i'd i'll i'm i've if in indeed instead into is isn't it it'd it'll it's its itself just keep keeps kind kinda knew know \
    known knows last later least less let let's like liked likely little long look looked looking looks lot lots love made mainly make makes making \
    many may maybe me mean means meant might mine mm more most mostly much must my myself near nearly need needed needs neither \
    never new next nice nine no nobody none nor not nothing now of off often oh ok okay old on once one ones only onto or other others otherwise ought \
    our ours ourselves out over own perhaps please plus possible pretty probably put quite rather ready really right round \
    said same saw say saying says second see seem seemed seems seen seven several shall she she'd she'll she's should shouldn't \
    since six so some somebody somehow someone something sometimes somewhere soon sort sorry still stuff such sure take taken takes taking talk talked talking tell ten than \
    thank thanks that that'll that's the their theirs them themselves then there there'll there's therefore these they they'd they'll they're they've thing things \
    think thinking thinks this those though thought three through thus till time times to today together told tomorrow tonight too took totally toward towards tried tries \
    try trying two uh uhh um under understood unless until up upon us use used uses using usually very via wait want wanted wants was wasn't way ways we we'd we'll \
    we're we've welcome well went were weren't what what's whatever when whenever where where's whether which while who who's whole whom whose why will with \
    within without won't wonder would wouldn't wow yeah yep yes yesterday yet you you'd you'll you're you've your yours yourself yourselves yup \
    agreed absolutely anymore basically bit certainly couple definitely honestly literally obviously simply somewhere suppose supposed \
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december \
    morning afternoon evening night noon week weeks month months year years day days hour hours minute minutes moment am pm o'clock \
    hundred thousand million percent twenty thirty forty fifty joining note quick everyone's add added speak said";

/// Sounds and courtesies, without which nothing is lost.
pub(in crate::embedded) const FILLERS: &[&str] = &[
    "uh",
    "um",
    "uhh",
    "umm",
    "er",
    "erm",
    "ah",
    "oh",
    "hmm",
    "mm",
    "mmm",
    "mhm",
    "huh",
    "yeah",
    "yep",
    "yup",
    "yes",
    "no",
    "okay",
    "ok",
    "right",
    "alright",
    "well",
    "so",
    "like",
    "anyway",
    "hi",
    "hello",
    "hey",
    "bye",
    "goodbye",
    "thanks",
    "cool",
    "sure",
    "fine",
    "good",
    "great",
    "nice",
    "wow",
    "know",
    "see",
    "mean",
    "just",
    "really",
    "actually",
    "basically",
    "ouch",
    "sounds",
];

/// What people say to find out whether a microphone works.
pub(in crate::embedded) const MIC_TEST: &[&str] = &[
    "test",
    "testing",
    "tests",
    "mic",
    "microphone",
    "check",
    "checking",
    "one",
    "two",
    "three",
    "hello",
    "hear",
    "sound",
    "audio",
    "recording",
    "working",
    "works",
    "on",
    "hi",
    "alpha",
    "bravo",
];

static STOP: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| STOP_WORDS.split_whitespace().chain(FILLERS.iter().copied()).collect());

/// Whether `word` (lower case) carries no topic.
pub(in crate::embedded) fn is_stop_word(word: &str) -> bool {
    STOP.contains(word)
}
