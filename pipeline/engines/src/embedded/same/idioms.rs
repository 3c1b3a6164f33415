//! Phrases that name one act in other words.

use std::sync::LazyLock;

use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// A verb that means little by itself, words in a row behind it, and the verb that both stand for.
pub(super) const IDIOMS: &[(&str, &[&str], &str)] = &[
    ("let", &["know"], "tell"),
    ("bring", &["up", "to", "date"], "update"),
    ("get", &["rid", "of"], "get rid of"),
    ("get", &["in", "touch", "with"], "get in touch"),
    ("get", &["back", "to"], "reply"),
    ("put", &["together"], "put together"),
    ("have", &["a", "look", "at"], "look at"),
    ("take", &["a", "look", "at"], "look at"),
    ("have", &["a", "word", "with"], "talk"),
    ("have", &["a", "chat", "with"], "talk"),
    ("give", &["some", "water"], "water"),
    ("give", &["a", "call"], "call"),
    ("give", &["a", "quick", "call"], "call"),
    ("give", &["a", "ring"], "call"),
    ("give", &["a", "shout"], "call"),
    ("give", &["a", "wash"], "wash"),
    ("give", &["a", "clean"], "clean"),
    ("make", &["a", "call", "to"], "call"),
    ("make", &["sure", "to"], ""),
    ("take", &["photos", "of"], "photograph"),
    ("take", &["pictures", "of"], "photograph"),
    ("take", &["a", "photo", "of"], "photograph"),
    ("take", &["a", "picture", "of"], "photograph"),
    ("put", &["in", "an", "application"], "apply"),
    ("make", &["an", "application"], "apply"),
    ("place", &["an", "order"], "order"),
    ("make", &["a", "payment"], "pay"),
    ("make", &["a", "backup", "of"], "back up"),
    ("do", &["a", "backup", "of"], "back up"),
    ("make", &["a", "copy", "of"], "copy"),
    ("make", &["a", "note", "of"], "note"),
    ("make", &["a", "start", "on"], "start"),
    ("make", &["a", "list", "of"], "list"),
    ("take", &["measurements", "of"], "measure"),
    ("take", &["for", "a", "walk"], "walk"),
    ("take", &["care", "of"], "sort out"),
    ("put", &["on", "charge"], "charge"),
    ("put", &["on", "to", "charge"], "charge"),
    ("get", &["ready"], "prepare"),
    ("get", &["hold", "of"], "contact"),
    ("give", &["a", "lift"], "drive"),
    ("give", &["a", "coat", "of", "paint"], "paint"),
    ("give", &["a", "lick", "of", "paint"], "paint"),
    ("give", &["a", "hand"], "help"),
    ("give", &["notice", "of"], "cancel"),
    ("have", &["a", "read", "of"], "read"),
    ("have", &["a", "read", "through"], "read"),
    ("have", &["a", "think", "about"], "think"),
    ("send", &["an", "invitation"], "invite"),
    ("send", &["an", "invite"], "invite"),
    ("send", &["invitations", "to"], "invite"),
    ("write", &["a", "thank", "you", "card"], "thank"),
    ("write", &["a", "thank", "you", "note"], "thank"),
    ("write", &["a", "thank", "you", "letter"], "thank"),
    ("send", &["a", "thank", "you", "card"], "thank"),
    ("send", &["a", "thank", "you", "note"], "thank"),
    ("send", &["a", "thank", "you", "email"], "thank"),
    ("say", &["thank", "you", "to"], "thank"),
    ("say", &["thanks", "to"], "thank"),
    ("say", &["sorry", "to"], "apologise"),
    ("say", &["no", "to"], "decline"),
    ("say", &["yes", "to"], "accept"),
    ("wish", &["a", "happy", "birthday"], "congratulate"),
    ("wish", &["happy", "birthday"], "congratulate"),
    ("submit", &["the", "application", "for"], "apply"),
    ("submit", &["an", "application", "for"], "apply"),
    ("send", &["off", "the", "application", "for"], "apply"),
    ("put", &["up", "for", "sale"], "sell"),
];

/// Phrases of time or condition that do not change the task: "on the way home", "while she is away", "if you can".
pub(super) static OCCASION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)[,\s]+(?:on\s+(?:the|my|our|your|his|her)\s+way(?:\s+(?:home|back|in|out|there|past|(?:to|from)\s+(?:the\s+)?\p{L}+))?\W*$|(?:while|when|whenever|once|as\s+soon\s+as|because|since|so\s+that|in\s+case)\s+(?:i|we|you|he|she|they|it|there|that|this|possible)\b.*$|if\s+(?:possible|necessary|(?:i|we|you)\s+can|there's\s+time)\b.*$)",
    )
});

/// Two words for what one word is for others.
pub(super) const PAIRS: &[(&str, &str, &str)] = &[
    ("vacuum", "cleaner", "hoover"),
    ("eye", "doctor", "optician"),
    ("mobile", "phone", "mobile"),
    ("cell", "phone", "mobile"),
    ("washing", "machine", "washer"),
    ("car", "park", "carpark"),
    ("parking", "lot", "carpark"),
    ("estate", "agent", "realtor"),
    ("living", "room", "lounge"),
    ("sitting", "room", "lounge"),
    ("post", "code", "postcode"),
    ("web", "site", "website"),
    ("application", "form", "application"),
];

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
];

/// What is given, had or done and is a verb, too: "give the floor a mop", "have a read of it".
pub(super) const GIVEN: &[&str] = &[
    "clean", "wash", "wipe", "polish", "hoover", "vacuum", "sweep", "dust", "scrub", "rinse", "iron", "trim",
    "prune", "brush", "check", "read", "tidy", "mop", "call", "ring", "shout", "bell", "buzz", "paint",
    "water", "service", "test",
];

/// What is renewed when one gets a new one.
pub(super) const PAPERS: &[&str] = &["passport", "licence", "license", "permit", "visa", "pass"];
