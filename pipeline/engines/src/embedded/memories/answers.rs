//! Facts that a question gives and its answer confirms or completes: "Do you smoke? - No.", "Where are you from? - Gdansk."

use std::sync::LazyLock;

use records::MemoryCategory;
use regex::Captures;

use super::forms::{AGE, Answer, END, FORM, HEALTH, START, STATE, STILL, of_another};
use crate::embedded::dates::number;
use crate::embedded::lexicon::{is_person, is_stop_word, relatives, trades};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{decapitalised, first_words, pattern};

static ALLERGIES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?:\b(?:any|other)\s+(?:(?:known|other|food|drug|new)\s+)?(?:allergies|intolerances)(?:\s+(?:that\s+)?(?:i|we)\s+(?:should|need\s+to|have\s+to)\s+(?:know|be\s+aware)(?:\s+(?:about|of))?)?|\ballergic\s+to\s+(?:anything|any\b.*)){END}"
    ))
});
static COUNTED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?:\bany\s+(?:other\s+)?|\bhow\s+many\s+|\bdo\s+you\s+have\s+|\bhave\s+you\s+got\s+)(?P<what>pets|animals|kids|children|siblings|brothers\s+(?:or|and)\s+sisters|grandchildren)(?:\s+(?:yet|of\s+your\s+own|yourself|in\s+the\s+(?:house|flat|household)|do\s+you\s+have|have\s+you\s+got))?{END}"
    ))
});
static FROM: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}where\s+(?:are\s+you\s+(?:\p{{L}}+ly\s+)?from|do\s+you\s+(?:\p{{L}}+ly\s+)?come\s+from|did\s+you\s+grow\s+up|were\s+you\s+born)(?:\s+originally)?{END}"
    ))
});
static LIVES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}where(?:abouts)?\s+(?:do\s+you|are\s+you)\s+{STILL}(?:live|living|based){END}"
    ))
});
static WORK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}what(?:'s|\s+is|\s+do|\s+was)?\s+(?:your\s+(?:job|profession|occupation|line\s+of\s+work|work)|(?:you|it\s+you)\s+{STILL}(?:do(?:\s+for\s+(?:a\s+living|work)|\s+professionally)?|work\s+as))(?:\s+when\s+you(?:'re|\s+are)\s+not\s+.*)?{END}"
    ))
});
static WORKPLACE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(&format!(r"(?i){START}where\s+do\s+you\s+{STILL}work{END}")));
static SINCE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}(?:since\s+when|how\s+long)\s+have\s+you\s+(?P<act>(?:been|lived|worked|had|played|owned|known|taught)\b.*?){END}"
    ))
});
static FAVOURITE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}(?:what|which|who)(?:'s|\s+is|\s+are)\s+your\s+(?P<what>favou?rite\s+[\p{{L}} ]+?){END}"
    ))
});
/// "What do you play?", "which languages do you speak?".
static WHICH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}(?:(?:what|which)(?:\s+(?:instruments?|languages?|sports?|subjects?|teams?))?\s+(?:do|are)|do)\s+you\s+{STILL}(?P<act>play\s+an(?:y|\s)\s*\p{{L}}+|play|speak\s+any\s+[\p{{L}} ]+|support|speak|teach|study|collect|playing|studying|teaching){END}"
    ))
});
static BIRTHDAY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}(?:when(?:'s|\s+is)\s+your\s+birthday|when\s+were\s+you\s+born|what(?:'s|\s+is)\s+your\s+date\s+of\s+birth){END}"
    ))
});
static HOUSEHOLD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}who(?:m)?\s+(?:else\s+)?(?:lives\s+(?:there\s+|here\s+)?with\s+you|do\s+you\s+live\s+with){END}"
    ))
});
static MEDICINE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?:\b(?:on|take|taking)\s+anything{END}|(?:\b(?:on|take|taking)\s+any\b|\bany\b)\s*(?:(?:other|regular|daily|current|prescribed)\s+)*(?:medication|medications|medicine|medicines|tablets|pills|drugs){END})"
    ))
});
static FAMILY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}(?:does|has)\s+(?:anyone|anybody|someone)(?:\s+else)?\s+in\s+(?:your|the)\s+family\s+(?:have|got|had|suffer\s+from)\s+(?P<what>[\p{{L}} -]+?){END}"
    ))
});
static HOBBIES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?:\bany\s+hobbies|{START}what\s+(?:are\s+your\s+hobbies|do\s+you\s+(?:like\s+to\s+)?do\s+(?:in\s+your\s+(?:free|spare)\s+time|for\s+fun|at\s+(?:the\s+)?weekends?))){END}"
    ))
});
/// "Do you smoke?", "are you vegetarian?", "have you got a dog?", "you still play chess, don't you?".
static YES_OR_NO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i){START}(?:do\s+you\s+{STILL}(?P<do>\p{{L}}.*?)|are\s+you\s+{STILL}(?P<are>\p{{L}}.*?)|have\s+you\s+{STILL}got\s+(?P<got>\p{{L}}.*?)|you(?:'re|\s+are)\s+{STILL}(?P<being>\p{{L}}.*?)(?:,\s+(?:aren't\s+you|right|yes|no|correct|i\s+think|is\s+that\s+right))?|you\s+{STILL}(?P<doing>(?:live|work|play|speak|have|drive|teach|study|run|come\s+from|grew\s+up|moved|used\s+to\s+(?:live|work|play))\b.*?)(?:,\s+(?:don't\s+you|didn't\s+you|right|yes|no|correct|i\s+think|is\s+that\s+right))?){END}"
    ))
});

static YES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|well|um|uh|er|ah)\W+)*(?:(?:yes|yeah|yep|yup|aye|absolutely|correct|indeed|exactly|right|sure|certainly|of\s+course|that's\s+right|i\s+do|i\s+am|i\s+have|we\s+do|we\s+are|we\s+have|still)\b[\s,.!]*)+",
    )
});
static NO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|well|um|uh|er|ah)\W+)*(?:no|nope|nah|never|none|nothing|not\b|neither|i\s+don't|i'm\s+not|i\s+haven't|we\s+don't)\b",
    )
});
/// What leads an answer and says nothing.
static LEAD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|well|um|uh|er|ah|hm+|just|only|yes|yeah|yep|me|so|i'm|i\s+am|we're|basically|originally|actually|probably|mainly|mostly|i\s+think|let\s+me\s+see|let's\s+see|i'd\s+say|the\s+usual)\b\W*)*",
    )
});
/// Where the words that answer end.
static OVER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:[.;:!?(]|,?\s+(?:but|so|because|though|although|i|we|he|she|they|it|it's|that's|you|and\s+(?:i|we|it|he|she|they|you|then))\b|,\s+(?:please|thanks|thank\s+you|sorry|actually|of\s+course|as\s+far\s+as|not)\b).*$",
    )
});
/// What may complete a "yes".
static COMPLETES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:since|for|every|with|in|at|from|once|twice|(?:two|three|four|five|six)\s+(?:times|days|evenings|nights))\b",
    )
});
/// A finite verb: the answer is a sentence, which is read by itself.
static FINITE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:is|are|was|were|am|has|had|have|do|does|did|will|would|can|could|should|might|know|think|mean|guess|it's|that's|there's|\p{L}+'(?:re|ve|ll|m|d))\b",
    )
});
/// What is asked for in passing, and lasts no longer than the talk: "Do you have a minute?", "do you want tea?".
static PASSING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:want|need|mind|know|think|mean|remember|see|hear|feel|agree|understand|prefer\s+to|happen|fancy|have\s+(?:a\s+(?:minute|moment|second|sec|pen|question|preference|date|reservation|booking|copy|plan|look)|time|to\b|any(?:thing)?\b|it|that|the|your|this|everything|enough|one)|get|find|look|say|sure|ready|okay|ok|all\s+right|alright|free|available|going|coming|there|here|in|on|around|busy|serious|kidding|joking|happy|interested|able|done|finished|looking|feeling|having|selling|buying|leaving|staying|doing|sitting|all\s+set|it|that|any|still|not|getting|taking|using|bringing|going\s+to|supposed|welcome|right|with\s+me|on\s+(?:time|your\s+way|holiday|call)|working\s+on|writing|planning|trying)\b",
    )
});
/// What one does not do for good: "Do you smoke? - No."
static ABSTAINS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:smoke|drink|drive|eat\s+[\p{L} ]+|cook|fly|own\s+a\s+\p{L}+|swim)$"));
static YOURS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:yourself|yours|your|you're|you|i'm|me|my)\b"));

/// What `answer` says, to `question`, about the one who gives it.
pub(super) fn read(question: &str, answer: &str) -> Option<Answer> {
    if !ASKS.is_match(question) || answer.ends_with('?') {
        return None;
    }
    let yes = YES.find(answer).map(|found| answer.get(found.end()..).unwrap_or_default());
    let no = NO.is_match(answer);
    let said = short(answer);
    if no {
        let found = YES_OR_NO.captures(question)?;
        let act = found.name("do").map(|act| act.as_str()).filter(|act| ABSTAINS.is_match(act))?;
        return Some(Answer::Sentence(format!("I don't {act}")));
    }
    if let Some(fact) = of_another(question, answer, yes.is_some()) {
        return Some(fact);
    }
    if let Some(found) = FAMILY.captures(question) {
        let mut words = answer.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        let who = words.find(|word| relatives().any(|known| known == word))?;
        return Some(Answer::Fact(format!("{{n}}'s {who} has {}", &found["what"]), MemoryCategory::Core, 8));
    }
    completed(question, said.as_deref()).or_else(|| {
        let rest = yes?;
        let found = YES_OR_NO.captures(question)?;
        let (verb, act) =
            [("do", "I"), ("are", "I'm"), ("got", "I've got"), ("being", "I'm"), ("doing", "I")]
                .into_iter()
                .find_map(|(name, lead)| Some((lead, found.name(name)?.as_str())))?;
        if PASSING.is_match(act) || act.split(' ').any(|word| word == "or") {
            return None;
        }
        let rest = OVER.replace(rest, "");
        let tail = if COMPLETES.is_match(&rest) { format!(" {}", rest.trim()) } else { String::new() };
        Some(Answer::Sentence(format!("{verb} {}{tail}", of_the_answerer(act))))
    })
}

/// What every question about a person has.
static ASKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:you|your|any|yourself|nationality|occupation|address|profession|postcode|religion|status|date\s+of\s+birth)\b|\bin\s+the\s+family\b|\ballergic\b",
    )
});

/// What completes a question for who, where, what and how long.
fn completed(question: &str, said: Option<&str>) -> Option<Answer> {
    use MemoryCategory::{Core, Hobbies, Interests, Learnings, Skills, Work};
    let said = said?;
    let of_place = |said: &str| {
        let first = said
            .split_once(' ')
            .filter(|(first, _)| matches!(first.to_lowercase().as_str(), "from" | "in" | "at"));
        first.map_or(said, |(_, place)| place).to_owned()
    };
    let fact = |text: String, category, score| Some(Answer::Fact(text, category, score));
    let counted = said.split(' ').next().is_some_and(|first| {
        matches!(first.to_lowercase().as_str(), "a" | "an")
            || number(first.trim_end_matches(',').to_lowercase().as_str()).is_some()
    });
    // "One coeliac" is a guest.
    if let Some(found) = FORM.captures(question) {
        return fact(format!("{{n}}'s {} is {}", found["what"].to_lowercase(), small(said)), Core, 7);
    }
    if let Some(found) = HEALTH.captures(question) {
        let had = if found.name("had").is_some() { "had" } else { "has" };
        return fact(format!("{{n}} {had} {}", small(said)), Core, 8);
    }
    if STATE.is_match(said) && YES_OR_NO.is_match(question) {
        return Some(Answer::Fact(format!("{{n}} is {}", small(said)), Core, 8));
    }
    if ALLERGIES.is_match(question) && !counted {
        let what = said.split_once("llergic to ").map_or(said, |(_, what)| what);
        return fact(format!("{{n}} is allergic to {}", small(what)), Core, 10);
    }
    if let Some(found) = COUNTED.captures(question) {
        // "Two, a boy and a girl": two children.
        let noun = &found["what"];
        let what = match said.split_once(", ") {
            Some((count, who)) if !count.contains(' ') => format!("{count} {noun}, {who}"),
            _ if !said.contains(' ') => format!("{said} {noun}"),
            _ => said.to_owned(),
        };
        return if counted { fact(format!("{{n}} has {}", small(&what)), Core, 9) } else { None };
    }
    if FROM.is_match(question) {
        return fact(format!("{{n}} is from {}", of_place(said)), Core, 8);
    }
    if LIVES.is_match(question) {
        let tie = said.split(' ').next().is_some_and(|first| {
            matches!(
                first.to_lowercase().as_str(),
                "in" | "at"
                    | "near"
                    | "on"
                    | "by"
                    | "just"
                    | "above"
                    | "with"
                    | "opposite"
                    | "next"
                    | "out"
                    | "outside"
            )
        });
        let place = if tie { small(said) } else { format!("in {said}") };
        return fact(format!("{{n}} lives {place}"), Core, 8);
    }
    if WORKPLACE.is_match(question) {
        let tie = said.split(' ').next().is_some_and(|first| {
            matches!(first.to_lowercase().as_str(), "in" | "at" | "for" | "with" | "from" | "on")
        });
        let place = if tie { small(said) } else { format!("at {said}") };
        return fact(format!("{{n}} works {place}"), Work, 8);
    }
    if HOBBIES.is_match(question) {
        return fact(format!("{{n}}'s hobbies: {}", small(said)), Hobbies, 7);
    }
    if WORK.is_match(question) {
        return trade(said).and_then(|trade| fact(format!("{{n}} is {trade}"), Work, 8));
    }
    if let Some(found) = AGE.captures(question) {
        let age = number(&said.split(' ').next()?.to_lowercase())?;
        let years = if said.contains(' ') { small(said) } else { format!("{age} years old") };
        return match found.name("who") {
            Some(who) if is_person(&who.as_str().to_lowercase()) => {
                fact(format!("{{n}}'s {} is {years}", who.as_str()), Core, 7)
            }
            Some(_) => None,
            None => fact(format!("{{n}} is {years}"), Core, 8),
        };
    }
    if let Some(found) = SINCE.captures(question) {
        let lasts = COMPLETES.is_match(said);
        let length = said
            .split(' ')
            .any(|word| matches!(word, "year" | "years" | "month" | "months" | "decades" | "ages" | "life"));
        if !lasts && !length || found["act"].contains("that") || found["act"].contains("waiting") {
            return None;
        }
        let span = if lasts { small(said) } else { format!("for {}", small(said)) };
        return Some(Answer::Sentence(format!("I've {} {span}", of_the_answerer(&found["act"]))));
    }
    if let Some(found) = FAVOURITE.captures(question) {
        return fact(format!("{{n}}'s {} is {}", found["what"].trim(), small(said)), Interests, 8);
    }
    if let Some(found) = WHICH.captures(question) {
        let act = found["act"].to_lowercase();
        // "I speak Portuguese."
        let said =
            said.strip_prefix("I ").and_then(|said| said.split_once(' ')).map_or(said, |(_, what)| what);
        let (verb, category) = match act.split(' ').next().unwrap_or_default() {
            "support" => ("supports", Interests),
            "play" | "playing" => ("plays", Hobbies),
            "speak" => ("speaks", Skills),
            "collect" => ("collects", Hobbies),
            "teach" | "teaching" => ("teaches", Work),
            _ => ("studies", Learnings),
        };
        return fact(format!("{{n}} {verb} {}", small(said)), category, 7);
    }
    if BIRTHDAY.is_match(question) {
        return fact(format!("{{n}}'s birthday is {}", small(said)), Core, 8);
    }
    if HOUSEHOLD.is_match(question) {
        return fact(format!("{{n}} lives with {}", small(said)), Core, 8);
    }
    let medicine = MEDICINE.is_match(question);
    if medicine { fact(format!("{{n}} takes {}", small(said)), Core, 8) } else { None }
}

/// An answer of a few words without a verb of its own; `None` of a sentence.
fn short(answer: &str) -> Option<String> {
    let said = LEAD.replace(answer, "");
    let said = OVER.replace(&said, "");
    let said = said.trim().trim_end_matches([',', '.', ' ']);
    let words = said.split_whitespace().count();
    ((1..=LONGEST).contains(&words) && !FINITE.is_match(said)).then(|| first_words(said, LONGEST))
}

/// More words than these are a sentence.
const LONGEST: usize = 10;

/// "Nurse", "a nurse", "as a nurse": with its article.
fn trade(said: &str) -> Option<String> {
    let said = small(said);
    let said = said.strip_prefix("as ").unwrap_or(&said);
    let bare = said.strip_prefix("a ").or_else(|| said.strip_prefix("an "));
    let words = bare.unwrap_or(said);
    let known = words.split([' ', ',']).take(3).any(|word| trades().any(|trade| trade == word));
    let article = if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    (bare.is_some() || known).then(|| format!("{article} {words}"))
}

/// With a small first letter, unless it is a name.
fn small(said: &str) -> String {
    let first = said.split(' ').next().unwrap_or_default();
    let lower = first.to_lowercase();
    let common = is_stop_word(&lower)
        || number(&lower).is_some()
        || is_person(&lower)
        || !said.contains(' ') && !first.is_empty() && first.len() > 2 && COMMON.is_match(&lower);
    if common { decapitalised(said) } else { said.to_owned() }
}

/// Words of one that answers give alone, and that are no names: plurals and matter.
static COMMON: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?:penicillin|latex|pollen|dust|gluten|lactose|dairy|shellfish|fish|\p{L}+(?:s|ing|in|ol|ist|er))$",
    )
});

/// A question's words as its answer would have them.
fn of_the_answerer(words: &str) -> String {
    YOURS
        .replace_all(words, |found: &Captures<'_>| match found[0].to_lowercase().as_str() {
            "yourself" => "myself",
            "yours" => "mine",
            "your" => "my",
            "you're" => "I'm",
            "you" => "me",
            "me" | "i'm" => "you",
            _ => "your",
        })
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(question: &str, answer: &str) -> String {
        match read(question, answer) {
            Some(Answer::Sentence(text) | Answer::Fact(text, ..)) => text,
            None => String::new(),
        }
    }

    #[test]
    fn an_answer_completes_what_was_asked() {
        for (question, answer, fact) in [
            ("Any allergies?", "Penicillin.", "{n} is allergic to penicillin"),
            ("And do you have any pets?", "Just a labrador.", "{n} has a labrador"),
            ("Where are you from originally?", "From Gdansk.", "{n} is from Gdansk"),
            ("What do you do for a living?", "Nurse.", "{n} is a nurse"),
            ("Do you smoke?", "No, never.", "I don't smoke"),
            ("Are you vegetarian?", "Yes, since March.", "I'm vegetarian since March"),
            ("You still live in Ely, don't you?", "Yes.", "I live in Ely"),
            ("How long have you been living here?", "Ten years.", "I've been living here for ten years"),
            (
                "Does anyone in your family have glaucoma?",
                "Yes, my father does.",
                "{n}'s father has glaucoma",
            ),
            ("Does anyone in your family have glaucoma?", "Yes, my father.", "{n}'s father has glaucoma"),
            ("Who lives with you?", "My wife and two daughters.", "{n} lives with my wife and two daughters"),
        ] {
            assert_eq!(said(question, answer), fact, "{question} {answer}");
        }
    }

    #[test]
    fn what_is_asked_in_passing_is_no_fact() {
        for (question, answer) in [
            ("Do you have a minute?", "Yes."),
            ("Do you want tea?", "Yes, please."),
            ("Are you free on Friday?", "Yes."),
            ("Any allergies?", "None."),
            ("Any pets?", "Not any more."),
            ("Where is the key?", "In the drawer."),
            ("Do you work or study?", "Yes."),
        ] {
            assert_eq!(said(question, answer), "", "{question} {answer}");
        }
    }
}
