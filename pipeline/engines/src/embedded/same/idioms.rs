//! Phrases that name one act in other words.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// A verb that means little by itself, words in a row behind it, and the verb that both stand for; of one verb the longest
/// first.
pub(super) static IDIOMS: LazyLock<HashMap<&'static str, Vec<Idiom>>> = LazyLock::new(|| {
    let mut idioms: HashMap<&str, Vec<Idiom>> = HashMap::new();
    for line in include_str!("../lexicon/idioms.txt").lines() {
        let mut parts = line.split('|').map(str::trim);
        let [light, words, verb] = [(); 3].map(|()| parts.next().unwrap_or_default());
        idioms.entry(light).or_default().push((words.split(' ').collect(), verb));
    }
    idioms
});
/// The words, and the verb.
pub(super) type Idiom = (Vec<&'static str>, &'static str);

/// Phrases of time or condition that do not change the task: "on the way home", "while she is away", "if you can".
pub(super) static OCCASION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)[,\s]+(?:on\s+(?:the|my|our|your|his|her)\s+way(?:\s+(?:home|back|in|out|there|past|(?:to|from)\s+(?:the\s+)?\p{L}+))?\W*$|(?:while|when|whenever|once|as\s+soon\s+as|because|since|so\s+that|in\s+case)\s+(?:i|we|you|he|she|they|it|there|that|this|possible)\b.*$|(?:before|until|till)\s+(?:i|we|you|he|she|they|it|there)\b.*$|before\s+\p{L}+ing\s+(?:it|them|him|her)(?:\s+(?:back|in|off|out|over|away|on))?\W*$|if\s+(?:possible|necessary|(?:i|we|you)\s+can|there's\s+time)\b.*$)",
    )
});

/// What is to be done to something, said of it.
pub(super) static NEEDED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<what>[^,;]{2,60}?),?\s+(?:still\s+)?(?:(?:needs?|wants?|requires?)(?:\s+to\s+(?:be|get))?|(?:(?:is|are|has|have|got|ought|due|waiting)\s+)?to\s+(?:be|get)|(?:should|must|has\s+to|have\s+to)\s+(?:be|get))\s+(?P<done>\p{L}+)\b(?P<rest>.*)$",
    )
});

/// Two words for what one word is for others.
pub(super) static PAIRS: LazyLock<HashMap<(&'static str, &'static str), &'static str>> =
    LazyLock::new(|| {
        let lines = include_str!("../lexicon/two_words.txt").lines();
        lines
            .filter_map(|line| {
                let mut words = line.split(' ');
                Some(((words.next()?, words.next()?), words.next()?))
            })
            .collect()
    });

/// What is arranged, and the verb that it is the noun of: "arrange the boiler service".
pub(super) const ACTS: &[(&str, &str)] = &[
    ("service", "service"),
    ("servicing", "service"),
    ("repair", "repair"),
    ("repairs", "repair"),
    ("cleaning", "clean"),
    ("inspection", "inspect"),
    ("removal", "remove"),
    ("renewal", "renew"),
    ("replacement", "replace"),
    ("installation", "install"),
    ("collection", "collect"),
    ("delivery", "deliver"),
    ("translation", "translate"),
    ("payment", "pay"),
    ("backup", "back up"),
    ("donation", "donate"),
    ("booking", "book"),
    ("reservation", "book"),
    ("cancellation", "cancel"),
    ("registration", "register"),
    ("enrolment", "register"),
    ("preparation", "prepare"),
    ("review", "review"),
    ("inspection", "inspect"),
    ("maintenance", "service"),
    ("assembly", "assemble"),
    ("painting", "paint"),
    ("decorating", "decorate"),
    ("cutting", "cut"),
    ("trimming", "trim"),
    ("purchase", "buy"),
    ("order", "order"),
    ("return", "return"),
    ("pickup", "pick up"),
    ("pick-up", "pick up"),
    ("drop-off", "drop off"),
    ("update", "update"),
    ("upgrade", "upgrade"),
    ("test", "test"),
    ("check", "check"),
    ("submission", "submit"),
    ("signature", "sign"),
    ("approval", "approve"),
    ("measurement", "measure"),
    ("disposal", "dispose of"),
    ("transfer", "transfer"),
    ("extension", "extend"),
    ("refund", "refund"),
    ("printing", "print"),
    ("washing", "wash"),
    ("hire", "hire"),
    ("rental", "rent"),
    ("sale", "sell"),
    ("valuation", "value"),
    ("correction", "correct"),
    ("completion", "complete"),
    ("distribution", "distribute"),
    ("cleanup", "clean up"),
    ("clean-up", "clean up"),
    ("set-up", "set up"),
    ("setup", "set up"),
];

/// What is given, had or done and is a verb, too: "give the floor a mop", "have a read of it".
pub(super) const GIVEN: &[&str] = &[
    "clean", "wash", "wipe", "polish", "hoover", "vacuum", "sweep", "dust", "scrub", "rinse", "iron", "trim",
    "prune", "brush", "check", "read", "tidy", "mop", "call", "ring", "shout", "bell", "buzz", "paint",
    "water", "service", "test", "spray", "shave", "press", "squirt",
];

/// What is renewed when one gets a new one.
pub(super) const PAPERS: &[&str] = &["passport", "licence", "license", "permit", "visa", "pass"];
