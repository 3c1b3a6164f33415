//! What sounds like a task but is not.

use std::sync::LazyLock;

use crate::embedded::lexicon::{base_of_participle, is_advice_verb, is_task_verb, is_vague_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{content_stems, is_content, pattern, words};

static DENIED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:not|never|no need|\w+n't|cannot|wish|might|maybe|perhaps|used to|was going to|were going to|would have|should have|could have|pretend|imagine|supposedly)\b",
    )
});
static SUBORDINATE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:if|when|whenever|what|which|who|how|where|why|unless|than|once|whatever|everything|anything|something|as|all|things?|do|did|does|when)\s+(?:that\s+)?$|\b(?:until|before|after)\s+$",
    )
});
/// First words after a modal that are no verb.
const NO_VERBS: &[&str] = &[
    "the", "a", "an", "my", "your", "our", "his", "her", "their", "to", "in", "on", "at", "of", "it", "that",
    "this", "there", "here", "with", "for", "and", "or", "no", "so", "all", "both", "only", "ever", "i",
    "you", "we", "they", "been", "more", "last", "next", "yes", "if", "when", "what", "how", "why", "every",
    "each", "any", "some", "one", "two", "three", "these", "those", "not", "as",
];

/// What one takes to get somewhere: advice, and no task.
const WAYS: &[&str] = &[
    "train", "bus", "tram", "taxi", "cab", "subway", "metro", "ferry", "tunnel", "bridge", "road", "route",
    "highway", "motorway", "exit", "turn", "stairs", "lift", "elevator", "path", "shortcut", "detour",
];

/// Whether the words before a claim deny it, question it, or make it part of another clause.
pub(super) fn is_undone_by(before: &str) -> bool {
    DENIED.is_match(before) || SUBORDINATE.is_match(before)
}

/// Whether words that begin with a verb are something to do: a verb of doing, and an object with content.
pub(super) fn is_task(task: &str, dated: bool) -> bool {
    let mut all = words(task);
    let Some(verb) = all.next() else { return false };
    let rest: Vec<String> = all.collect();
    let known = is_task_verb(&verb) || is_advice_verb(&verb);
    let capital = task.starts_with(char::is_uppercase) && !known;
    if capital || verb.len() < 2 || NO_VERBS.contains(&verb.as_str()) || !is_doing(&verb, &rest, dated) {
        return false;
    }
    // "Try the blue one": which one, only what stands before says.
    if !dated && rest.last().is_some_and(|last| last == "one" || last == "ones") && rest.len() < 5 {
        return false;
    }
    let undated_content = rest.iter().any(|word| is_content(word) && word.chars().any(char::is_alphabetic));
    undated_content && !content_stems(task).is_empty()
}

/// Vague verbs make no task, apart from "see the doctor on Monday", "let Tom know" and "try the new key".
fn is_doing(verb: &str, rest: &[String], dated: bool) -> bool {
    match verb {
        "let" => rest.iter().any(|word| matches!(word.as_str(), "know" | "in" | "out" | "have")),
        "see" => {
            dated && matches!(rest.first().map(String::as_str), Some("the" | "my" | "a"))
                || matches!(rest.first().map(String::as_str), Some("about" | "to")) && rest.len() > 1
                || rest.get(1).is_some_and(|whom| ADVISERS.contains(&whom.as_str()))
                || matches!(rest.first().map(String::as_str), Some("if" | "whether"))
        }
        "try" => rest.first().is_some_and(|next| {
            matches!(next.as_str(), "the" | "a" | "an" | "some" | "this" | "these" | "your" | "our")
        }),
        "look" => {
            dated
                || matches!(rest.first().map(String::as_str), Some("into" | "after" | "up" | "for"))
                    && rest.len() > 1
                || rest.first().is_some_and(|next| next != "at")
                || matches!(
                    rest.get(1).map(String::as_str),
                    Some("the" | "our" | "your" | "my" | "his" | "her")
                ) && !rest.iter().any(|word| UNSEEN.contains(&word.as_str()))
        }
        "go" => {
            is_errand(rest)
                || matches!(rest.first().map(String::as_str), Some("over" | "through" | "easy" | "back"))
                    && rest.len() > 2
        }
        "follow" | "check" | "decide" => true,
        "cover" => {
            rest.iter().any(|word| word.starts_with("shift"))
                || rest.first().is_some_and(|next| next == "for")
        }
        "stick" => {
            matches!(rest.first().map(String::as_str), Some("the" | "a" | "an" | "your" | "my" | "some"))
        }
        "be" => dated && is_presence(rest),
        "have" if is_look(rest) => true,
        "have" => is_done_by_others(rest) || dated && is_for_others(rest),
        "stop" => rest.first().is_some_and(|next| next.ends_with("ing")) && rest.len() > 1,
        "keep" | "leave" => rest.first().is_none_or(|next| !next.ends_with("ing")) && rest.len() > 1,
        // Where and when people meet is an event.
        "meet" => !rest.first().is_some_and(|next| {
            matches!(next.as_str(), "in" | "at" | "up" | "again" | "on" | "there" | "here" | "back")
        }),
        _ => !is_vague_verb(verb) && !is_idle_talk(verb, rest),
    }
}

/// Whom one goes to see.
const ADVISERS: &[&str] = &[
    "nurse",
    "doctor",
    "gp",
    "dentist",
    "vet",
    "physio",
    "lawyer",
    "solicitor",
    "accountant",
    "optician",
    "pharmacist",
    "manager",
    "specialist",
    "therapist",
    "midwife",
];

/// "Do the flowers", "put up a notice": verbs that make a task with some objects only.
pub(super) fn is_chore(task: &str) -> bool {
    let mut all = words(task);
    let verb = all.next();
    let rest: Vec<String> = all.collect();
    match verb.as_deref() {
        Some("do") => is_work(&rest),
        Some("put") => is_put_somewhere(&rest),
        _ => false,
    }
}

/// "The flowers", "my taxes": not "the right thing".
fn is_work(rest: &[String]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", String::as_str);
    matches!(word(0), "the" | "my" | "our" | "his" | "her" | "some" | "all" | "both")
        && !matches!(
            word(1),
            "" | "same"
                | "right"
                | "best"
                | "thing"
                | "things"
                | "job"
                | "opposite"
                | "math"
                | "trick"
                | "rest"
                | "wrong"
                | "talking"
                | "work"
                | "former"
                | "latter"
                | "other"
                | "maths"
                | "most"
                | "next"
                | "first"
                | "last"
                | "of"
                | "time"
                | "kind"
                | "sort"
                | "honours"
                | "head"
                | "hair"
                | "nails"
                | "walk"
                | "thinking"
        )
}

/// "Put up a notice", "put the chairs in the hall".
fn is_put_somewhere(rest: &[String]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", String::as_str);
    let led =
        |at: usize| matches!(word(at), "the" | "a" | "an" | "some" | "our" | "your" | "my" | "two" | "three");
    let way = |word: &String| {
        matches!(
            word.as_str(),
            "in" | "into" | "on" | "onto" | "up" | "out" | "away" | "back" | "together" | "aside" | "under"
        )
    };
    matches!(word(0), "up" | "out" | "together" | "aside" | "away" | "back") && led(1)
        || led(0)
            && rest.iter().skip(2).any(way)
            && !matches!(word(1), "kettle" | "light" | "music" | "blame" | "pressure")
}

/// "Have a word with the neighbours", "have a look at the gutter".
fn is_look(rest: &[String]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", String::as_str);
    word(0) == "a"
        && matches!(word(1), "word" | "chat" | "talk" | "look" | "think")
        && matches!(word(2), "with" | "at" | "about" | "to" | "for" | "through")
        && !matches!(word(3), "this" | "that" | "it" | "you")
}

/// "Be in for the engineer", "be in touch about the lease".
fn is_presence(rest: &[String]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", String::as_str);
    matches!(
        (word(0), word(1)),
        ("in" | "there" | "home" | "here", "for" | "when")
            | ("in", "touch")
            | ("at", "the" | "my" | "our" | "your")
    ) && rest.len() > 2
}

/// What is looked at in talk alone.
const UNSEEN: &[&str] = &[
    "picture", "screen", "time", "clock", "sky", "moment", "future", "state", "size", "face", "faces",
    "weather", "slide", "board", "numbers", "figures", "data", "results", "map", "floor", "way", "ways",
    "options", "past", "next", "problem", "question",
];

/// Where one goes to get something done.
const ERRANDS: &[&str] = &[
    "bank",
    "post",
    "pharmacy",
    "chemist",
    "chemist's",
    "shop",
    "shops",
    "doctor",
    "doctor's",
    "dentist",
    "vet",
    "vet's",
    "garage",
    "library",
    "dump",
    "tip",
    "market",
    "supermarket",
    "store",
    "council",
    "embassy",
    "consulate",
    "notary",
    "police",
    "town",
    "hairdresser",
    "hairdresser's",
    "barber",
    "optician",
    "optician's",
    "butcher",
    "bakery",
    "hardware",
    "registry",
    "office",
    "place",
    "launderette",
    "cleaner",
    "cleaner's",
    "cleaners",
];

/// "Go to the bank": to the "office" or "town" alone one just goes.
fn is_errand(rest: &[String]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", String::as_str);
    word(0) == "to"
        && matches!(word(1), "the" | "that" | "my" | "your" | "our")
        && rest.iter().skip(2).take(3).any(|word| ERRANDS.contains(&word.as_str()))
}

/// "Have his eyesight tested".
fn is_done_by_others(rest: &[String]) -> bool {
    let ready = |word: &String| {
        matches!(word.as_str(), "ready" | "done" | "finished" | "sorted" | "out")
            || word.len() > 4 && word.ends_with("ed")
    };
    // "The lawyer look over it", "our lead send that".
    let acts = |pair: &[String]| {
        pair.iter().zip(pair.get(1)).next().is_some_and(|(word, next)| {
            (is_task_verb(word) || word == "look")
                && matches!(
                    next.as_str(),
                    "the" | "at" | "a" | "it" | "that" | "them" | "over" | "your" | "us" | "me"
                )
        })
    };
    rest.iter().skip(1).any(|word| base_of_participle(word).is_some() || ready(word))
        || rest.get(1..).is_some_and(|rest| rest.windows(2).any(acts))
}

/// "Have a quote for you".
fn is_for_others(rest: &[String]) -> bool {
    rest.windows(2).any(|pair| {
        let [tie, who] = pair else { return false };
        matches!(tie.as_str(), "for" | "with" | "to")
            && matches!(who.as_str(), "you" | "him" | "her" | "them" | "us")
    })
}

/// "Give you an idea", "give you that": of "give you the key" the object is a thing.
fn gives_nothing(rest: &[String]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", String::as_str);
    match word(1) {
        "the" | "my" | "your" | "his" | "her" | "some" | "two" | "our" => NO_GIFTS.contains(&word(2)),
        "a" | "an" => NO_GIFTS.contains(&word(2)),
        _ => true,
    }
}

/// What is given in talk alone.
const NO_GIFTS: &[&str] = &[
    "idea",
    "example",
    "sense",
    "hint",
    "minute",
    "second",
    "sec",
    "moment",
    "chance",
    "break",
    "clue",
    "picture",
    "bit",
    "hard",
    "tip",
    "little",
    "quick",
    "rough",
    "brief",
    "feel",
    "taste",
    "try",
    "go",
    "choice",
    "lot",
    "background",
    "overview",
    "summary",
    "hand",
    "point",
    "benefit",
    "creeps",
    "impression",
    "credit",
    "same",
    "whole",
    "short",
    "long",
    "big",
    "small",
    "good",
    "reason",
];

/// What is taken by making it: of "a look" and "a seat" nothing remains.
const TAKEN: &[&str] = &[
    "picture",
    "pictures",
    "photo",
    "photos",
    "photograph",
    "photographs",
    "snap",
    "screenshot",
    "video",
    "note",
    "notes",
    "copy",
    "copies",
    "sample",
    "samples",
    "reading",
    "measurement",
    "cutting",
    "cuttings",
    "message",
    "blood",
    "tablet",
    "pill",
    "dose",
];

/// "Talk about", "start with", "move on", "call it a day": conduct of the conversation itself.
fn is_idle_talk(verb: &str, rest: &[String]) -> bool {
    let next = rest.first().map_or("", String::as_str);
    matches!(
        (verb, next),
        ("talk" | "speak", "about" | "through" | "over")
            | ("start", "with" | "by")
            | ("move", "on")
            | ("take", "it")
            | ("call", "it" | "that")
            | ("tell", "you")
            | ("give", "it")
            | (
                "walk",
                "down" | "to" | "up" | "over" | "through" | "around" | "along" | "back" | "away" | "home"
            )
            | ("get", "it" | "there" | "going" | "started" | "into" | "used" | "better")
            | ("run", "through" | "out" | "with")
            | ("make", "it" | "sense")
    ) || (verb == "take" && next == "care" && rest.get(1).is_none_or(|of| of != "of"))
        || (verb == "take" && next == "a" && !rest.iter().any(|word| TAKEN.contains(&word.as_str())))
        || (verb == "put" && rest.iter().any(|word| word == "kettle"))
        || (verb == "do" && rest.iter().any(|word| word == "favour" || word == "favor"))
        || (verb == "give" && next == "you" && gives_nothing(rest))
        || (verb == "ask" && next == "you")
        || (matches!(verb, "talk" | "speak" | "write")
            && next == "to"
            && rest.get(1).is_some_and(|who| who == "you"))
        || (verb == "get"
            && next == "back"
            && !rest
                .get(2)
                .is_some_and(|who| !matches!(who.as_str(), "you" | "it" | "that" | "work" | "this")))
        || (verb == "take" && rest.iter().take(4).any(|word| WAYS.contains(&word.as_str())))
}

/// "I want to look into flights": what takes an afternoon, and not a life.
pub(super) static SMALL_WISH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:look\s+into|sign\s+up|check|ask|call|email|e-mail|order|book|return|cancel|renew|fix|repair|replace|try\s+out|find\s+out|compare|sort\s+out|print|send|write\s+to)\s",
    )
});

pub(super) static SOME_DAY: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:one\s+day|some\s*day|eventually|my\s+own|our\s+own)\b"));

/// "Close my old account".
pub(super) static OF_MINE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^\p{L}+\s+(?:my|our)\s"));
