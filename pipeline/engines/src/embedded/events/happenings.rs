//! Events that a verb names: arrivals, departures, visits, and what people have arranged to do.

use std::sync::LazyLock;

use super::nouns;
use super::phrase::{
    DETERMINERS, Said, Word, last_person, noun_phrase_before, noun_phrase_from, tail, titled,
};
use crate::embedded::lexicon::{WordList, is_person, is_stop_word, is_task_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern, third_person};

/// Verbs of coming, going, beginning and ending, in the forms that say what is to come: base, "-s" and "-ing".
const ACTS: &[&str] = &[
    "come",
    "arrive",
    "land",
    "fly",
    "leave",
    "visit",
    "return",
    "depart",
    "stay",
    "travel",
    "drive",
    "move",
    "start",
    "begin",
    "end",
    "finish",
    "close",
    "open",
    "expire",
    "perform",
    "play",
    "graduate",
    "retire",
    "marry",
    "turn",
    "sail",
    "go",
    "sing",
    "celebrate",
    "race",
    "attend",
    "host",
    "throw",
    "decide",
    "deliver",
    "sit",
    "check",
    "run",
    "drop",
    "stop",
    "speak",
    "present",
    "compete",
    "exhibit",
    "tour",
    "camp",
    "get",
    "ship",
    "launch",
    "premiere",
    "resume",
    "reopen",
    "board",
    "air",
    "reach",
    "meet",
];
/// What a speaker's own going and coming is called.
const NOMINALS: &[(&str, &str)] = &[
    ("leave", "Leaving"),
    ("depart", "Departure"),
    ("fly", "Flying"),
    ("arrive", "Arrival"),
    ("return", "Return"),
    ("retire", "Retirement"),
    ("graduate", "Graduation"),
];
/// Of these, those that are events with a particle or an object alone.
const BOUND: &[(&str, &str)] = &[
    ("run", "out"),
    ("drop", "by in round around over"),
    ("stop", "by in round around over"),
    ("get", "married back home"),
    ("check", "out in"),
    ("move", "in out to into house"),
    ("sit", "my the an her his"),
    (
        "turn",
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
    ),
];
static AUXILIARIES: WordList = WordList::new(
    "supposed due meant expected scheduled is are am be will going to gonna 'll still also just all both probably finally then only definitely already",
);
/// Before a verb, they make it uncertain or a duty.
static DOUBTS: WordList = WordList::new(
    "to must should could would might may can need needs has have had want wants wanted please let can't didn't not",
);

static TASK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i'll|we'll|you'll|i will|we will|you will|going to|(?:need|needs|have|has|had|want|wants|ought|supposed|got|asked|like) (?:\S+ )?to|must|should|please|can you|could you|would you|will you|let me|let's|(?:i'm|we're) to|gotta|gonna|remember to|forget to|make sure(?: to)?|better|remind (?:me|us) to|i can|we can|shall i)\s+(?:(?:also|just|please|then|still|all|quickly|definitely)\s+)*(?P<verb>[\p{L}-]+)",
    )
});
/// "Doctor Hale can see you on Tuesday".
static SEES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?P<who>(?:(?:Doctor|Dr\.?|Professor|Mr\.?|Ms\.?|Mrs\.?)\s\p{Lu}[\p{L}-]+|the\s(?:doctor|dentist|physio|consultant|lawyer|vet|nurse)))\s+(?:can|will|could|is\s+going\s+to)\s+see\s+(?:you|me|us|him|her|them)\b",
    )
});

/// Whether the clause assigns a task: its date says when.
pub(super) fn is_task(said: &Said<'_>) -> bool {
    let text = joined(&said.all);
    // "Let's do the handover on Friday".
    let held = |found: &regex::Captures<'_>| {
        let ours = ["let's", "we'll", "we will"].iter().any(|lead| found[0].to_lowercase().starts_with(lead));
        let verb = found.name("verb").filter(|_| ours).map_or(0..0, |verb| verb.range());
        matches!(text.get(verb.clone()), Some("do" | "have" | "hold" | "schedule"))
            && text.get(verb.end..).and_then(nouns::happening_in).is_some()
    };
    let asked =
        TASK.captures(&text).is_some_and(|found| is_work(&found["verb"].to_lowercase()) && !held(&found));
    let first = said
        .all
        .iter()
        .find(|word| !word.is_any("and so then also ok okay but or"))
        .filter(|first| is_work(&first.plain));
    let noun = |next: &Word<'_>| {
        next.is_any("is are with on at for club night")
            || is_stop_word(&next.plain) && !next.is_any(&DETERMINERS)
    };
    asked || first.is_some_and(|_| said.all.get(1).is_some_and(|next| !noun(next)))
}

/// A verb of tasks that is not a way of being somewhere.
fn is_work(verb: &str) -> bool {
    let verb = verb.trim_end_matches('s');
    (is_task_verb(verb) || matches!(verb, "do" | "make" | "drive" | "use" | "put" | "try"))
        && !matches!(verb, "visit" | "meet" | "attend" | "present" | "start" | "speak" | "host" | "play")
}

pub(super) fn joined(words: &[Word<'_>]) -> String {
    words.iter().map(|word| word.said).collect::<Vec<_>>().join(" ")
}

/// "We meet on Tuesday", "I'm seeing the nurse", "you're having lunch with Ana": who is met.
pub(super) fn meeting(said: &Said<'_>, earlier: &str) -> Option<String> {
    let text = joined(&said.all);
    if let Some(found) = SEES.captures(&text) {
        return Some(format!("Appointment with {}", &found["who"]));
    }
    let words = said.all.as_slice();
    // "We'll see each other on the 23rd."
    let together = words.windows(3).any(|three| {
        matches!(three, [see, each, other] if see.plain == "see" && each.plain == "each" && other.plain == "other")
    });
    if together {
        return Some("Meeting".to_owned());
    }
    let sees = |at: usize| {
        words.get(at).is_some_and(|word| word.plain == "see")
            && words.get(at + 1).is_some_and(|next| {
                next.is_any("dr doctor professor") || next.is_name() || is_someone(words, at + 1)
            })
    };
    let at = (0..words.len()).find(|at| {
        sees(*at) || words.get(*at).is_some_and(|word| word.is_any("meet meets meeting seeing"))
    })?;
    let before = words.get(at.checked_sub(1)?)?;
    let arranged = before.is_any(
        "i'm we're you're he's she's they're i'll we'll let's we they i going am are will to all shall",
    );
    if !arranged
        || words
            .get(at.saturating_sub(2)..at)?
            .iter()
            .any(|word| word.is_any("want need needs nice good like have has"))
    {
        return None;
    }
    let next = words.get(at + 1);
    let pronoun = next.filter(|next| next.is_any("him her them")).and_then(|_| meant(said, earlier, at));
    let who = next
        .filter(|next| !next.is_any("again up at in on you me us each"))
        .map(|_| pronoun.unwrap_or_else(|| with_article(words, at + 1)));
    let kind =
        if words.get(at).is_some_and(|word| word.plain == "seeing") { "Appointment" } else { "Meeting" };
    match who.filter(|who| !who.is_empty()) {
        Some(who) => Some(format!("{kind} with {who}")),
        None => (kind == "Meeting").then(|| kind.to_owned()),
    }
}

/// "The nurse", "my sister": not the numbers.
fn is_someone(words: &[Word<'_>], from: usize) -> bool {
    words.get(from).is_some_and(|word| word.is_any("the my our"))
        && noun_phrase_from(words, from).last().is_some_and(|last| is_person(&last.plain) || last.is_name())
}

/// The noun phrase from `from` on, with its article.
fn with_article(words: &[Word<'_>], from: usize) -> String {
    let article =
        words.get(from).filter(|word| word.is_any(&DETERMINERS)).map(|word| format!("{} ", word.plain));
    let phrase = noun_phrase_from(words, from);
    if phrase.is_empty() {
        String::new()
    } else {
        format!("{}{}", article.unwrap_or_default(), joined(phrase))
    }
}

/// The verb of [`ACTS`] that a word is a form of.
fn act_of(word: &str) -> Option<(&'static str, Form)> {
    ACTS.iter().find_map(|verb| {
        let stem = verb.trim_end_matches('e');
        let doubled = verb.chars().last().map(|last| format!("{verb}{last}ing"));
        match word {
            _ if word == *verb => Some((*verb, Form::Base)),
            _ if word == third_person(verb) => Some((*verb, Form::Third)),
            _ if word == format!("{stem}ing")
                || Some(word) == doubled.as_deref()
                || word == format!("{verb}ing") =>
            {
                Some((*verb, Form::Gerund))
            }
            _ => None,
        }
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Base,
    Third,
    Gerund,
}

/// "Grandpa arrives", "the engineer will come", "I'm flying to Oslo", "the tender closes".
pub(super) fn act(said: &Said<'_>, earlier: &str) -> Option<String> {
    let words = said.all.as_slice();
    (0..words.len()).find_map(|at| {
        let (verb, form) = act_of(&words.get(at)?.plain)?;
        let subject_end =
            (0..at).rev().find(|before| !words.get(*before).is_some_and(|word| word.is_any(&AUXILIARIES)))?
                + 1;
        let subject = words.get(subject_end - 1)?;
        let helped = subject_end < at
            || subject.plain.ends_with("'ll")
            || subject.plain.ends_with("'s")
            || subject.plain.ends_with("'re")
            || subject.plain.ends_with("'m");
        let plural = subject.is_any("i we you they") || subject.plain.ends_with('s');
        let agrees = match form {
            Form::Base => helped || plural,
            Form::Third => !helped,
            // "Landlord coming on Friday", as notes put it.
            Form::Gerund => helped || subject_end == 1 && is_person(&subject.plain),
        };
        // "The guy can come on Wednesday" says when he does.
        let fits = subject.plain == "can" && matches!(verb, "come" | "visit" | "deliver" | "start");
        let subject_end = if fits { subject_end - 1 } else { subject_end };
        let subject = if fits { words.get(subject_end.checked_sub(1)?)? } else { subject };
        if fits && subject.is_any("i we you who") || !agrees && !fits {
            return None;
        }
        // "Lily's play" is hers.
        if form == Form::Base && subject.plain.ends_with("'s") {
            return None;
        }
        if subject.is_any(&DOUBTS) || !is_bound(verb, words, at) {
            return None;
        }
        let rest = tail(said, at);
        let acts = |who: &str| {
            let verb = match form {
                Form::Gerund => words.get(at).map_or_else(String::new, |word| word.plain.clone()),
                _ if who.ends_with('s')
                    && !who.ends_with("ss")
                    && !who.ends_with("us")
                    && !who.contains("'s") =>
                {
                    verb.to_owned()
                }
                _ => third_person(verb),
            };
            capitalised(format!("{who} {verb} {rest}").trim())
        };
        let own = subject.is_any("i we you i'm we're you're i'll we'll you'll");
        if own {
            // "I leave at half seven" is what one does every day.
            if said.hour_alone && form == Form::Base && !helped {
                return None;
            }
            // What one finishes oneself is work.
            if matches!(verb, "finish" | "end" | "close") {
                return None;
            }
            if rest.is_empty()
                && let Some((_, noun)) = NOMINALS.iter().find(|(act, _)| *act == verb)
            {
                return Some((*noun).to_owned());
            }
            let object = !rest.is_empty() || matches!(verb, "visit" | "marry" | "graduate");
            let said = if form == Form::Gerund { words.get(at)?.plain.clone() } else { verb.to_owned() };
            return object.then(|| capitalised(format!("{said} {rest}").trim()));
        }
        let bare = subject.plain.trim_end_matches("'s").trim_end_matches("'ll").trim_end_matches("'re");
        if matches!(bare, "he" | "she" | "they" | "it" | "who") {
            let who = meant(said, earlier, at);
            // "They're delivering the manure."
            let unnamed = bare == "they" && form == Form::Gerund && !rest.is_empty();
            return match who {
                Some(who) => Some(acts(&who)),
                None if unnamed => Some(capitalised(&format!("{} {rest}", words.get(at)?.plain))),
                None => None,
            };
        }
        // "The exhibition on the mill opens": the exhibition does.
        let phrase = noun_phrase_before(words, subject_end)?;
        let who = joined(nouns::with_topic(words, subject_end, phrase));
        let who = who.trim_end_matches("'ll");
        let who = if helped && subject_end == at { who.trim_end_matches("'s") } else { who };
        Some(acts(who))
    })
}

fn is_bound(verb: &str, words: &[Word<'_>], at: usize) -> bool {
    let Some((_, ties)) = BOUND.iter().find(|(bound, _)| *bound == verb) else { return true };
    words.get(at + 1).is_some_and(|next| {
        ties.split_whitespace().any(|tie| {
            next.plain.split('-').next() == Some(tie) || next.plain.chars().all(|c| c.is_ascii_digit())
        })
    })
}

/// The person whom a pronoun means: the last one named before it.
pub(super) fn meant(said: &Said<'_>, earlier: &str, at: usize) -> Option<String> {
    let here = joined(said.all.get(..at).unwrap_or_default());
    last_person(&format!("{earlier} {here}"))
}

/// "You're at the eye clinic on the 30th", "I'm on holiday from Monday".
pub(super) fn location(said: &Said<'_>) -> Option<String> {
    let words = said.all.as_slice();
    let at = words.iter().position(|word| word.is_any("i'm we're you're they're we'll i'll am are"))?;
    let tie = words.get(at + 1)?;
    if tie.is_any("away closed abroad") {
        let rest = tail(said, at + 1);
        return Some(capitalised(format!("{} {rest}", tie.plain).trim()));
    }
    if tie.plain == "off" && words.get(at + 2).is_none() {
        return Some("Day off".to_owned());
    }
    if !tie.is_any("at in on off") {
        return None;
    }
    if tie.plain == "off" && words.get(at + 2).is_some_and(|word| word.plain == "to") {
        let phrase = noun_phrase_from(words, at + 3);
        return (!phrase.is_empty()).then(|| format!("Trip to {}", joined(phrase)));
    }
    let phrase = noun_phrase_from(words, at + 2);
    // "I'm off Thursdays."
    let days = phrase.first().is_some_and(|first| phrase.len() == 1 && first.plain.ends_with("days"));
    (!phrase.is_empty() && !days).then(|| titled(phrase))
}
