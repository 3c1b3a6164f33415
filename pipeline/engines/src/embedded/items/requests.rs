//! Tasks that are asked of another speaker: requests, reminders and imperatives.

use std::sync::LazyLock;

use regex::Captures;

use super::orders::{
    ATTENTION, AWAITS, CAUSES, COMES, FORGOTTEN, HABIT, IDIOMS, LETS_KNOW, LOOKS, PRESENT, PRONOUNS, PUTS,
    QUITS, SEES_IF, SOFTLY, is_real,
};
use super::{Claim, Force, filters};
use crate::embedded::clauses::Clause;
use crate::embedded::lexicon::{
    base_of_gerund, ends_a_phrase, is_advice_verb, is_event_noun, is_person, is_stop_word, is_task_verb,
    is_vague_verb,
};
use crate::embedded::pattern::{Pattern, Patterns};
use crate::embedded::text::{decapitalised, pattern};

/// Words between a modal and its verb.
pub(super) const ADVERBS: &str = r"(?:(?:please|also|all|both|maybe|just|kindly|possibly|quickly|still|really|definitely|probably|then|first|now|again|perhaps|finally|actually|like|uh|um|at\s+least|at\s+some\s+point),?\s+)*";

static ASKED: LazyLock<Patterns> = LazyLock::new(|| {
    let rule = |body: &str| format!(r"(?i)^(?P<before>.*?)\b{body}{ADVERBS}(?P<task>\p{{L}}.*)$");
    Patterns::new(&[
        rule(
            r"(?:can|could|would|will)\s+(?:you(?:\s+(?:two|guys|all|both))?|someone|somebody|anyone|(?:one|either)\s+of\s+you)(?:,?\s+(?-i:(?P<name>\p{Lu}\p{Ll}+)),?)?\s+(?:be\s+able\s+to\s+)?(?:please\s+)?(?P<gerund>mind\s+)?",
        ),
        rule(
            r"(?:do\s+you\s+think|any\s+(?:chance|way)|wonder(?:ing|ed)?\s+(?:if|whether)|(?:appreciate\s+it|grateful|great|good|nice|helpful|lovely)\s+if|^if)\s+you\s+(?:could|can|would|might)\s+",
        ),
        rule(
            r"(?:(?:can|could|may|might|would|must|i'd|i\s+would)\s+(?:i\s+)?(?:ask|get|trouble)\s+(?:you|everyone|everybody)\s+to|do\s+me\s+a\s+fav(?:o|ou)r\s+and|go\s+ahead\s+and|see\s+to\s+it\s+that\s+you|don't\s+let\s+(?:me|us)\s+forget\s+to|i'll\s+leave\s+it\s+to\s+you\s+to)\s+",
        ),
        rule(
            r"(?:it\s+would\s+be\s+(?:great|nice|good|helpful)|i'd\s+(?:appreciate\s+it|be\s+grateful))\s+if\s+you\s+(?:could|would)\s+",
        ),
        rule(
            r"(?:need|looking\s+for|want)\s+(?:someone|somebody|a\s+volunteer|one\s+of\s+you)\s+(?:to|who\s+can)\s+",
        ),
        rule(
            r"(?:(?:i|we)\s+need|i'd\s+like|we'd\s+like|i\s+would\s+like|i\s+want)\s+(?:you|(?-i:(?P<name>\p{Lu}\p{Ll}+)))\s+to\s+",
        ),
        rule(
            r"(?:(?:he|she|they|(?:the|my|our|your)\s+\p{L}+)\s+(?:wants?|needs?|expects?)|(?-i:\p{Lu}\p{Ll}+)\s+(?:wants|needs|expects))\s+(?:us|you|me)\s+to\s+",
        ),
        rule(
            r"(?:please\s+)?(?:make|be)\s+(?P<sure>sure)\s+(?:that\s+)?(?:you\s+|to\s+|we\s+)?(?:remember\s+to\s+)?",
        ),
        rule(
            r"(?:don't|do\s+not|can't|cannot|mustn't|must\s+not|shouldn't|better\s+not|let's\s+not|not\s+to)\s+forget\s+(?:to\s+)",
        ),
        rule(r"(?:don't|do\s+not|can't|cannot|mustn't|must\s+not)\s+(?P<thing>forget)\s+(?:about\s+)?"),
        rule(r"(?:please\s+|must\s+|also\s+|^)remember\s+to\s+"),
        rule(
            r"(?:(?:someone|somebody)(?:\s+(?:with|from|in|at|on|who)(?:\s+\p{L}+){1,3}?)?|everyone|everybody|(?:each|all|one|some|both|either)\s+of\s+(?:you|us)|you)(?:\s+(?:all|guys|both|still|also|really|just|first|only|definitely|probably))*(?:'ll|'re|'d)?(?:\s+(?:also|still|then|just|first|both|all|probably))*\s+(?:will\s+|would\s+|gonna\s+|going\s+to\s+)?(?:also\s+)?(?:has\s+to|have\s+to|needs\s+to|need\s+to|should|must|ought\s+to|really\s+should|gotta|better)\s+",
        ),
        rule(r"(?:you're|you\s+are|we're|we\s+are|i'm)\s+(?:supposed|meant|expected|required)\s+to\s+"),
        rule(
            r"(?:(?:someone|somebody|everyone|everybody|one\s+of\s+us)(?:'s|\s+has)|(?:you|we)(?:'ve|\s+have))\s+(?:got\s+to|gotta)\s+",
        ),
        rule(r"i(?:'d)?\s+(?:suggest|advise|recommend)\s+(?:is\s+)?(?:that\s+)?you\s+"),
        rule(r"you(?:'d|\s+had)?\s+better\s+"),
        rule(
            r"(?:you\s+(?:might|may|will|would|'ll|'d)|you'll|you'd)\s+(?:also\s+)?(?:want|need|do\s+well)\s+to\s+",
        ),
        rule(r"(?P<advice>you(?:\s+(?:just|also|really|both|all))?\s+want\s+to)\s+"),
        rule(
            r"(?:(?:shall|can)\s+we\s+(?:agree|say)|let's\s+(?:agree|say)|how\s+about|i\s+propose)\s+(?:that\s+)?you\s+",
        ),
        rule(r"i(?:'m|\s+am|\s+was)\s+hoping\s+(?:that\s+)?you\s+(?:could|would|might|can|will)\s+"),
        rule(
            r"(?:why\s+don't\s+you|would\s+it\s+be\s+possible\s+(?:for\s+you\s+)?to|be\s+so\s+kind\s+as\s+to|(?:counting|relying)\s+on\s+you\s+to|it's\s+(?:up\s+to\s+you|your\s+(?:turn|job))\s+to|i'll\s+(?:need|ask)\s+you\s+to)\s+",
        ),
        rule(r"(?:do\s+you\s+mind|^mind|you\s+wouldn't\s+mind)\s+(?P<gerund>)"),
        rule(r"are\s+you\s+(?:ok|okay|able|happy|alright|all\s+right|free|around)\s+to\s+"),
        rule(r"(?:asked|told|reminded)\s+(?:me|us|you|everyone|everybody)\s+to\s+"),
        rule(r"(?:your|the|\p{L}+'s)\s+(?:job|task|homework)\s+is\s+to\s+"),
        rule(r"remind\s+(?:me|us)\s+to\s+"),
        rule(r"please,?\s+"),
    ])
});

/// "Tom, …" at the start, or "…, Tom?" at the end.
static ADDRESSED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?:(?i:ok|okay|and|so|well|hey|hi|also|then|but|alright|right|yes|no|sure|great|good|thanks)[,.\s]+)*(?P<name>\p{Lu}\p{Ll}+),\s",
    )
});
static ADDRESSED_LAST: LazyLock<Pattern> = LazyLock::new(|| pattern(r",\s+(?P<name>\p{Lu}\p{Ll}+)[?.!]*$"));
static OPENING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^[-*•\[\]\d.)\s]*(?:(?i:ok|okay|oh|so|and|also|then|but|please|kindly|just|simply|now then|aye|ah|try to|start to|make sure to|be sure to|go and|note to self|be a love and|be a dear and|be an angel and|mind you|mind that you|mind and|see if you can|see whether you can|homework|for homework|first|secondly|second|next|finally|right|yes|yeah|well|now|alright|after that|before i forget|while you're at it|while you're there|when you can|if you can|try and|go ahead and|come and|no|nope|anyway|listen|hey|actually|maybe|um|uh|todo|to do|reminder|action item|sure|great|good|fine|cool|perfect|wonderful|lovely|excellent|deal|later|afterwards|meanwhile|tomorrow|today|tonight)[,:.]?\s+)*(?:(?P<name>\p{Lu}\p{Ll}+),\s+)?(?P<task>(?P<verb>\p{L}+)\s+(?P<next>[\p{L}\d$€£']+).*)$",
    )
});

/// "Everybody bring a torch", "you sort the tickets?": the verb is one of tasks, in its base form.
static BARE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:ok|okay|and|then|right|oh|yes|great)[,\s]+)*(?:(?P<all>(?:somebody|someone|everybody|everyone)(?:\s+else)?)|you(?:'ll|\s+will|'re\s+going\s+to|\s+are\s+going\s+to|'re\s+gonna)?(?:\s+(?:(?P<group>guys|two|all|both)|just|kindly|please))?),?\s+(?P<task>(?P<verb>\p{L}+)\s+\p{L}.*)$",
    )
});

/// What "everybody" or "you" is told without a modal: of "you", only as a question or with a date.
pub(super) fn bare(clause: &str, question: bool) -> Option<Claim> {
    let found = BARE.captures(clause)?;
    let works = is_task_verb(&found["verb"].to_lowercase()) || filters::is_chore(&found["task"]);
    if !works || ATTENTION.is_match(&found["task"]) || AWAITS.is_match(&found["task"]) {
        return None;
    }
    let asked = question || found.name("all").is_some() || found.name("group").is_some();
    let force = if asked { Force::Request } else { Force::Suggestion };
    Some(Claim { task: unaddressed(&found["task"]), owner: None, force })
}

/// The task that a clause asks for.
pub(super) fn read(clause: &str) -> Option<Claim> {
    let found = ASKED.matching(clause).into_iter().find_map(|(_, rule)| rule.captures(clause))?;
    let before = &found["before"];
    let task = asked_for(&found)?;
    // "You want to grab lunch?" asks for no work, and who "should get a letter" waits for it.
    if found.name("advice").is_some() && clause.ends_with('?') || AWAITS.is_match(&task) {
        return None;
    }
    // "Perhaps somebody should ring them": a suggestion, worded as advice.
    let firm = SOFTLY.replace_all(before, "");
    if filters::is_undone_by(&firm)
        || found.name("sure").is_some() && HABIT.is_match(before)
        || ATTENTION.is_match(&task) && !is_real(&task)
        || is_forbidden(&task)
    {
        return None;
    }
    let thing = found.name("thing").is_some() && FORGOTTEN.is_match(&task);
    let state = thing || STATE.is_match(&task);
    let task = match (found.name("sure"), found.name("thing")) {
        (Some(_), _) if state => format!("make sure {task}"),
        (_, Some(_)) if !state => return None,
        (_, Some(_)) => format!("don't forget {task}"),
        _ => task,
    };
    Some(Claim { task: unaddressed(&task), owner: addressee(&found, clause), force: Force::Request })
}

/// "Please don't share it" forbids something.
fn is_forbidden(task: &str) -> bool {
    let task = task.to_lowercase();
    ["don't ", "do not ", "never "].iter().any(|no| task.starts_with(no)) && !task.contains(" forget")
}

/// A state and not an act is to be made sure of: "the gate is open".
static STATE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:the|an?|my|your|our|his|her|their|this|that|all|every\p{L}*)\s"));

/// A task without the name that it ends with: "water the plants, Tom".
fn unaddressed(task: &str) -> String {
    match ADDRESSED_LAST.captures(task) {
        Some(found) if is_name(&found["name"]) => task.strip_suffix(&found[0]).unwrap_or(task).to_owned(),
        _ => task.to_owned(),
    }
}

/// After "mind", the verb is a gerund.
fn asked_for(found: &Captures<'_>) -> Option<String> {
    // "Please, and keep the receipt."
    let task = PRESENT.replace(&found["task"], "");
    let task = task.strip_prefix("and ").unwrap_or(&task).to_owned();
    if found.name("gerund").is_none() {
        return Some(task);
    }
    let (gerund, rest) = task.split_once(' ')?;
    Some(format!("{} {rest}", base_of_gerund(&gerund.to_lowercase())?))
}

fn addressee(found: &Captures<'_>, clause: &str) -> Option<String> {
    let named = found.name("name").map(|name| name.as_str().to_owned());
    let by = |rule: &Pattern| {
        rule.captures(clause).map(|found| found["name"].to_owned()).filter(|name| is_name(name))
    };
    named.filter(|name| is_name(name)).or_else(|| by(&ADDRESSED)).or_else(|| by(&ADDRESSED_LAST))
}

/// A capitalised word that is no ordinary opener such as "Thanks" or "Monday".
pub(super) fn is_name(word: &str) -> bool {
    let lower = word.to_lowercase();
    !is_stop_word(&lower) && !is_task_verb(&lower) && !NO_NAMES.contains(&lower.as_str())
}

/// Adverbs and words of address with which a sentence begins.
const NO_NAMES: &[&str] = &[
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "next",
    "also",
    "then",
    "meanwhile",
    "otherwise",
    "afterwards",
    "however",
    "finally",
    "firstly",
    "secondly",
    "lastly",
    "luckily",
    "hopefully",
    "ideally",
    "obviously",
    "basically",
    "honestly",
    "listen",
    "look",
    "madam",
    "sir",
    "guys",
    "folks",
    "everyone",
    "everybody",
    "anyway",
    "besides",
    "therefore",
    "instead",
    "cheers",
    "sorry",
    "lovely",
    "perfect",
    "brilliant",
    "excellent",
    "homework",
    "morning",
    "afternoon",
    "evening",
    "hello",
];

/// An instruction: a clause that begins with the base form of a verb of tasks. One that "and" joins to
/// another task shares its owner; one that "and" joins to a statement is part of that.
/// `stated` says that the clause before it states something without a modal that an infinitive could go on with.
pub(super) fn imperative(
    clause: &Clause<'_>,
    question: bool,
    stated: bool,
    previous: Option<&Claim>,
) -> Option<Claim> {
    let found = OPENING.captures(clause.text)?;
    let verb = found["verb"].to_lowercase();
    let advice = !is_task_verb(&verb)
        && (is_advice_verb(&verb) && is_object(&found["task"])
            || QUITS.is_match(&found["task"])
            || CAUSES.is_match(&found["task"])
            || PUTS.is_match(&found["task"]) && !PRONOUNS.contains(&found["next"].to_lowercase().as_str())
            || LETS_KNOW.is_match(&found["task"])
            || LOOKS.is_match(&found["task"])
            || SEES_IF.is_match(&found["task"])
            || IDIOMS.is_match(&found["task"])
            || COMES.is_match(&found["task"])
            || is_act(&verb, &found["next"]));
    if question && previous.is_none() || !(is_task_verb(&verb) || advice) || is_subject(&verb, &found["next"])
    {
        return None;
    }
    let attention = ATTENTION.is_match(&found["task"]) && !is_real(&found["task"]);
    if attention || is_predicated(&found["task"]) {
        return None;
    }
    // What a comma alone joins to a statement is an instruction where it has a date.
    let loose = clause.coordinated && previous.is_none();
    if loose && clause.joined && !(stated && is_object(&found["task"])) {
        return None;
    }
    // "The till is short, nip to the bank": after a plain statement, with an object of its own.
    let loose = loose && !(stated && is_object(&found["task"]));
    let task = decapitalised(&found["task"]);
    let named = found.name("name").map(|name| name.as_str().to_owned()).filter(|name| is_name(name));
    let (inherited, force) = match previous {
        // "I need the plan by Tuesday, and ping the electrician."
        // "I'll do your shopping, just give me a list": the other gives it.
        Some(previous)
            if clause.coordinated
                && previous.force != Force::Demand
                && !(previous.force == Force::Commitment
                    && matches!(found["next"].to_lowercase().as_str(), "me" | "us")) =>
        {
            (previous.owner.clone(), previous.force)
        }
        _ if loose => (None, Force::Suggestion),
        _ => (None, Force::Imperative),
    };
    let last = || {
        ADDRESSED_LAST
            .captures(clause.text)
            .map(|found| found["name"].to_owned())
            .filter(|name| is_name(name))
    };
    Some(Claim { task: unaddressed(&task), owner: named.or(inherited).or_else(last), force })
}

/// A word before "the" or "your" that is nothing else is a verb: "sand the door".
fn is_act(verb: &str, next: &str) -> bool {
    let definite = matches!(
        next.to_lowercase().as_str(),
        "the" | "your" | "this" | "these" | "those" | "my" | "our" | "his" | "her" | "their" | "all"
    );
    let other = is_stop_word(verb)
        || is_vague_verb(verb)
        || ends_a_phrase(verb)
        || is_person(verb)
        || is_event_noun(verb)
        || ["ed", "ing", "ly", "s", "ment", "tion", "sion", "ness", "ity"]
            .iter()
            .any(|ending| verb.ends_with(ending))
        || NO_ACTS.contains(&verb);
    definite && verb.len() > 2 && !other
}

/// What may stand before "the" and is no verb of doing.
const NO_ACTS: &[&str] = &[
    "half", "both", "all", "twice", "besides", "near", "beyond", "despite", "except", "plus", "bet", "put",
    "make", "blame", "picture", "same", "given", "hence", "damn", "bless", "hell", "god", "imagine",
    "remember", "trust", "mind", "enjoy", "forget", "feel", "told", "spent", "love", "thank", "suppose",
    "apart", "hit", "hurt", "let", "quit", "cost", "wow", "sorry", "thanks", "hello", "guess", "suit",
    "hear", "name", "bring", "eat", "drink", "wear", "breathe",
];

/// What is advised has an object or says how: "keep him on the lead", "stretch your calves", "eat less sugar".
fn is_object(task: &str) -> bool {
    let mut words = task.split_whitespace().skip(1).map(str::to_lowercase);
    let is_led = |word: &String| OBJECTS.contains(&word.as_str());
    let next = words.next().unwrap_or_default();
    let particle = matches!(next.as_str(), "aside" | "away" | "together" | "out" | "up" | "on" | "back");
    is_led(&next) || particle && words.next().as_ref().is_some_and(is_led) || GIVES.is_match(task)
}

/// "Give grandma a ring".
static GIVES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^give\s+(?:\p{L}+\s+){1,3}an?\s+(?:call|ring|bell|shout|nudge|buzz|lift|heads-up|hand)\b")
});

const OBJECTS: &[&str] = &[
    "the",
    "a",
    "an",
    "your",
    "my",
    "our",
    "his",
    "her",
    "their",
    "him",
    "me",
    "us",
    "them",
    "some",
    "more",
    "less",
    "fewer",
    "plenty",
    "enough",
    "two",
    "three",
    "four",
    "five",
    "one",
    "ten",
    "twenty",
    "half",
    "lots",
    "this",
    "these",
    "each",
    "every",
    "all",
    "any",
    "only",
    "no",
    "warm",
    "cold",
    "hot",
    "fresh",
    "exercise",
    "exercises",
    "questions",
    "question",
    "pages",
    "page",
];

/// "Book club is on Friday": the verb was a part of the subject.
fn is_predicated(task: &str) -> bool {
    let mut words = task.split_whitespace().skip(1).map(str::to_lowercase);
    let first = words.next().unwrap_or_default();
    let tied = |word: &String| {
        matches!(word.as_str(), "on" | "of" | "in" | "at" | "from" | "for" | "the" | "and" | "my" | "our")
    };
    let finite = |word: &String| {
        matches!(word.as_str(), "is" | "are" | "was" | "were" | "will" | "have" | "has" | "had")
    };
    !OBJECTS.contains(&first.as_str())
        && !matches!(
            first.as_str(),
            "if" | "whether" | "that" | "what" | "who" | "where" | "when" | "how" | "which" | "with" | "to"
        )
        && words
            .take(7)
            .take_while(|word| !is_stop_word(word) || tied(word) || finite(word))
            .any(|word| finite(&word))
}

/// "Order is everything", "Report of the year": the verb was a noun.
fn is_subject(verb: &str, next: &str) -> bool {
    if next == "to" {
        return !matches!(
            verb,
            "talk" | "speak" | "write" | "reply" | "respond" | "return" | "switch" | "subscribe"
        );
    }
    matches!(
        next.to_lowercase().as_str(),
        "is" | "was"
            | "are"
            | "were"
            | "has"
            | "had"
            | "will"
            | "of"
            | "and"
            | "or"
            | "would"
            | "can"
            | "could"
            | "should"
            | "went"
            | "isn't"
            | "wasn't"
            | "costs"
            | "i"
            | "we"
            | "he"
            | "she"
            | "they"
            | "said"
            | "says"
            | "did"
            | "does"
    )
}
