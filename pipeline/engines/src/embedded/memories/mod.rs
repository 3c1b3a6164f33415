//! Memories: lasting facts about the user, and about the people around the user.

mod answers;
mod category;
mod earlier;
mod forms;
mod likely;
mod names;
mod others;
mod rules;

use std::sync::LazyLock;

use records::{MemoryCategory, Talk};
use regex::Captures;
use stages::MemoryDraft;

use super::capitals::restored;
use super::clauses::{self, Clause};
use super::learned::{Named, Weighed};
use super::lexicon::{Listed, WordList};
use super::pattern::Pattern;
use super::planted::heard;
use super::same::known_facts;
use super::text::{Sentence, capitalised, first_words, pattern, third_person, words};
pub(super) use category::category_of;
use earlier::Earlier;
use forms::Answer;
use others::{KIN, MAY_BE_KIN, MAY_BE_MEANT, OTHERS, PRONOUN, THEIR_KIN};
use rules::{
    AFTERTHOUGHT, DATED, DOUBT, EVERY, FIRST_PERSON, FOR_NOW, HAS_TO, JOKE, NAME, OF_ONESELF, OTHERS_LIKE,
    OWN, PASSING, Rule, TAIL, WISH,
};

/// DECISIONS §5.
const MOST: usize = 4;
const LONGEST: usize = 15;
const SHORTEST_TALK: usize = 25;
/// Of a long talk, no more candidates than these are ranked.
const CANDIDATES: usize = 60;

struct Candidate {
    score: u8,
    draft: MemoryDraft,
}

/// Who speaks, as facts call them.
#[derive(Clone, Debug)]
struct Teller {
    name: String,
    /// The most that a fact about them scores: the user's come first, then those of named people.
    most: u8,
}

impl Teller {
    /// What another says of himself comes after what the user does.
    fn tells(&self, mut candidate: Candidate) -> Candidate {
        if self.most < u8::MAX {
            candidate.score = candidate.score.min(self.most);
            candidate.draft.category = MemoryCategory::Other;
        }
        candidate
    }
}

/// The score of what is said of one who is not the user.
const OF_OTHERS: u8 = 4;
/// The score of what one says of himself whose name is never said.
const OF_UNNAMED: u8 = 3;

/// At most four memories of `talk`, the most telling first among those said.
pub(super) fn extract(talk: &Talk) -> Vec<MemoryDraft> {
    if talk.char_count() < SHORTEST_TALK {
        return Vec::new();
    }
    best(candidates(talk))
}

/// Whether any sentence of `talk`, however short, states a fact.
pub(super) fn any(talk: &Talk) -> bool {
    !candidates(talk).is_empty()
}

fn candidates(talk: &Talk) -> Vec<Candidate> {
    let user_is_known = talk.lines.iter().any(|line| line.is_user);
    let user = talk.user_name.as_deref().unwrap_or("User");
    let names = names::of_speakers(talk, user);
    let mut found: Vec<Candidate> = Vec::new();
    let mut earlier = Earlier::default();
    let sentences = heard(talk, true);
    let weighed = Weighed::of(&sentences);
    for (at, sentence) in sentences.into_iter().enumerate() {
        if found.len() >= CANDIDATES {
            break;
        }
        if JOKE.is_match(&sentence.text) {
            found.truncate(earlier.candidates);
        }
        let line = sentence.line;
        earlier.candidates = found.len();
        let named = sentence.speaker.and_then(|speaker| names.get(speaker));
        let teller = match (sentence.is_user, named) {
            (false, Some(name)) => {
                Some(Teller { name: name.clone(), most: if user_is_known { OF_OTHERS } else { u8::MAX } })
            }
            (false, None) if user_is_known => {
                let name = sentence.speaker.map(names::shown);
                name.map(|name| Teller { name, most: OF_UNNAMED })
            }
            _ => Some(Teller { name: user.to_owned(), most: u8::MAX }),
        };
        let name = teller.as_ref().map(|teller| teller.name.as_str());
        if let Some(teller) = &teller
            && let Some(answer) = earlier.answered(&sentence)
        {
            let fact = match answer {
                Answer::Sentence(text) => own(&text, &teller.name),
                Answer::Fact(text, category, score) => candidate(&text, &teller.name, category, score),
            };
            found.extend(fact.map(|found| teller.tells(found)));
        }
        earlier.note_question(&sentence);
        let Some(unquoted) = earlier.unquoted(sentence) else { continue };
        // "Can we come with my father? He's a builder."
        let asked = last_meant(&unquoted.text, name);
        let heard = unquoted.text.clone();
        let Some(sentence) = stated(unquoted) else {
            earlier.remember(&heard, asked);
            continue;
        };
        for clause in certain_clauses(&sentence) {
            if let Some(teller) = &teller {
                found.extend(own(clause.text, &teller.name).map(|found| teller.tells(found)));
            }
            let before = sentence.text.find(clause.text).and_then(|at| sentence.text.get(..at));
            let meant = before.and_then(|before| last_meant(before, name)).or_else(|| earlier.meant.clone());
            // "Ask your brother. - He's ill.": of the one who answers.
            let meant = match meant {
                Some(meant) if meant.starts_with(LISTENER) => {
                    name.filter(|_| earlier.line != line).map(|name| meant.replace(LISTENER, name))
                }
                meant => meant,
            };
            found.extend(of_others(clause.text, meant, name));
        }
        if found.len() == earlier.candidates
            && let Some(teller) = &teller
            && weighed.odds(at, Named::Fact) > likely::LIKELY
        {
            let told = likely::fact(&sentence.text, &teller.name, earlier.meant.as_deref());
            found.extend(told.map(|found| teller.tells(found)));
        }
        earlier.remember(&heard, last_meant(&sentence.text, name));
        earlier.line = line;
    }
    found
}

/// Stands for the one who answers: of "ask your brother" the brother.
const LISTENER: &str = "\u{1}";

/// Whom "he" and "she" mean after `text`: the last that it names, or of the speaker's people the last: "User's sister".
fn last_meant(text: &str, speaker: Option<&str>) -> Option<String> {
    let kin = speaker.and_then(|speaker| {
        let found = THEIR_KIN.captures_iter(text).last()?;
        let whose = if found["whose"].eq_ignore_ascii_case("your") { LISTENER } else { speaker };
        Some((found.get(0)?.end(), format!("{whose}'s {}", &found["who"])))
    });
    match (kin, last_name(text)) {
        (Some((end, _)), Some(name)) if text.rfind(&name).is_some_and(|at| at >= end) => Some(name),
        (Some((_, kin)), _) => Some(kin),
        (None, name) => name,
    }
}

/// The last name that a sentence gives, if it gives one.
fn last_name(text: &str) -> Option<String> {
    NAME.captures_iter(text)
        .filter(|found| found.name("led").is_none())
        // "Soup only." begins with a capital and names no person.
        .filter(|found| {
            let name = found.name("n").map_or(0..0, |name| name.range());
            let first = text.get(..name.start).is_some_and(|before| before.trim().is_empty());
            let gerund = text.get(name.clone()).is_some_and(|name| name.ends_with("ing"));
            !first || !gerund && text.get(name.end..).is_some_and(|after| ACTS.is_match(after))
        })
        .map(|found| found["n"].to_owned())
        .filter(|name| is_name(name))
        .last()
}

fn is_name(word: &str) -> bool {
    let lower = word.to_lowercase();
    let first = lower.split(' ').next_back().unwrap_or_default();
    !super::lexicon::is_stop_word(first)
        && !matches!(first.trim_end_matches('.'), "mr" | "mrs" | "ms" | "miss" | "dr")
        && super::dates::number(first).is_none()
        && !super::lexicon::is_task_verb(first)
        && !OPENERS.has(first)
}

/// What follows a name with which a sentence begins.
static ACTS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?:'s|,?\s+(?:is|was|has|had|will|can|could|does|did|said|and\s+\p{Lu}|\p{Ll}{2,}ed)\b|\s+\p{Ll}{2,}s\s|\s\p{Lu}\p{Ll})",
    )
});

/// Capitalised words with which people begin to answer.
static OPENERS: WordList = WordList::new(
    "course fair lovely grand deal brilliant perfect wonderful great cool happy sure hello hey hang dear \
    sorry thanks right alright absolutely exactly true agreed congratulations cheers morning evening welcome anyway honestly \
    aye nope yep luckily hopefully obviously actually basically poor good nice whatever nothing something everything half most",
);

/// A sentence as far as it states something: of "I'm allergic to nuts, do you know?" what stands before the comma.
fn stated(mut sentence: Sentence<'_>) -> Option<Sentence<'_>> {
    if sentence.text.ends_with('?') {
        let comma = sentence.text.rfind(", ")?;
        sentence.text.truncate(comma);
    }
    let text = AFTERTHOUGHT.replace(&sentence.text, "");
    sentence.text = WISH.replace_all(&text, "I want to").into_owned();
    Some(sentence)
}

/// The clauses of a sentence that are neither uncertain nor dependent, and do not speak of one day.
fn certain_clauses<'t>(sentence: &'t Sentence<'_>) -> impl Iterator<Item = Clause<'t>> {
    let mut depends = false;
    clauses::split(&sentence.text).into_iter().filter(move |clause| {
        let condition = clauses::is_condition(clause.text);
        let certain = !condition && !depends && !DOUBT.is_match(clause.text)
            // "I teach on Tuesday evenings."
            && (!DATED.is_match(clause.text) || EVERY_WEEK.is_match(clause.text));
        depends = condition;
        certain
    })
}

static EVERY_WEEK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bon\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day\s+(?:mornings|afternoons|evenings|nights)\b",
    )
});

fn best(mut found: Vec<Candidate>) -> Vec<MemoryDraft> {
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.score));
    let mut known = known_facts();
    let mut kept: Vec<MemoryDraft> = Vec::new();
    for Candidate { draft, .. } in found {
        if kept.len() < MOST && known.find(&draft.content).is_none() {
            known.add(&draft.content);
            kept.push(draft);
        }
    }
    kept
}

fn own(text: &str, name: &str) -> Option<Candidate> {
    if !OF_ONESELF.is_match(text) {
        return None;
    }
    let found = OWN.iter().find_map(|rule| told(rule, &rule.said.get().captures(text)?, name));
    found.or_else(|| EVERY.captures(text).and_then(|said| habit(&said, name)))
}

fn told(rule: &Rule, said: &Captures<'_>, name: &str) -> Option<Candidate> {
    let part = |group: &str| said.name(group).map_or("", |part| part.as_str());
    let rest = if part("r").trim().is_empty() { String::new() } else { rest(part("r")).unwrap_or_default() };
    let likes = matches!(
        part("v").to_lowercase().as_str(),
        "love" | "adore" | "enjoy" | "like" | "hate" | "loathe" | "detest" | "dislike" | "prefer"
    );
    if likes && (rest.is_empty() || PASSING.is_match(&rest)) {
        return None;
    }
    let verb = part("v").to_lowercase();
    let spaced =
        if rest.is_empty() || rest.starts_with([' ', '-', ',']) { rest.clone() } else { format!(" {rest}") };
    let content = rule
        .told
        .replace("{k}", part("k").trim())
        .replace("{g}", part("g"))
        .replace("{b}", part("b").trim())
        .replace("{v}", &third_person(&verb))
        .replace("{V}", &verb)
        .replace(" {r}", "{r}")
        .replace("{r}", &spaced);
    candidate(&content, name, rule.category, rule.score)
}

/// "I practise every morning before work".
fn habit(said: &Captures<'_>, name: &str) -> Option<Candidate> {
    let verb = said["v"].to_lowercase();
    let auxiliary = matches!(
        verb.as_str(),
        "was"
            | "had"
            | "did"
            | "could"
            | "should"
            | "can"
            | "will"
            | "need"
            | "want"
            | "am"
            | "must"
            | "think"
            | "mean"
            | "know"
            | "said"
            | "were"
            | "are"
            | "might"
            | "would"
            | "got"
            | "went"
            | "met"
            | "saw"
            | "thought"
    );
    // "I have choir on Thursdays", but not "I have to get up".
    let perfect = verb == "have" && (HAS_TO.is_match(&said["r"]) || said["r"].contains("every"));
    if auxiliary || perfect || verb.ends_with("ed") {
        return None;
    }
    candidate(&format!("{{n}} {} {}", third_person(&verb), &said["r"]), name, MemoryCategory::Habits, 7)
}

/// What a clause says of another person: of the user's own people when the user speaks, of a name, or of the last one
/// named.
fn of_others(text: &str, meant: Option<String>, user: Option<&str>) -> Option<Candidate> {
    if let Some(said) = MAY_BE_KIN.is_match(text).then(|| KIN.captures(text)).flatten() {
        // "Half of my family" is not the family.
        if said
            .get(0)
            .and_then(|kin| text.get(..kin.start()))
            .is_some_and(|before| before.trim_end().ends_with(" of"))
        {
            return None;
        }
        let rest = rest(&said["r"])?;
        let who = said.name("who").or_else(|| said.name("bare")).map_or("", |who| who.as_str());
        let who = if said.name("bare").is_some() { who.to_lowercase() } else { who.to_owned() };
        let name = user?;
        return candidate(&format!("{{n}}'s {who} {}", in_full(&rest)), name, MemoryCategory::Core, 7);
    }
    let may_be_named = NAME.captures_iter(text).any(|found| is_name(&found["n"]));
    let named = may_be_named
        .then(|| OTHERS.captures(text))
        .flatten()
        .map(|said| (said["n"].to_owned(), said["r"].to_owned()));
    // "He has asthma" gives no name.
    let named = named.filter(|(name, _)| is_name(name));
    let (name, said) = named.or_else(|| {
        let said = MAY_BE_MEANT.is_match(text).then(|| PRONOUN.captures(text)).flatten()?;
        let before = text.get(..said.get(0)?.start()).and_then(|before| last_meant(before, user));
        let who = before.or(meant)?;
        // "My sons …, they're rowers": "they" stands for a plural, "he" for one person.
        let many = who.contains("'s ") && who.ends_with('s') && !who.ends_with("boss");
        (many == said.name("many").is_some()).then(|| (who, said["r"].to_owned()))
    })?;
    let kin = name.contains("'s ");
    if !kin && (!is_name(&name) || super::lexicon::is_person(&name.to_lowercase())) {
        return None;
    }
    // "He loves it": what, only the talk before says.
    if OTHERS_LIKE.is_match(&said) {
        return None;
    }
    if kin {
        return candidate(&format!("{{n}} {}", in_full(&rest(&said)?)), &name, MemoryCategory::Core, 6);
    }
    let told = in_full(&rest(&said)?);
    // "Nigel's my neighbour" is of the speaker's neighbour.
    let told = user.map_or_else(|| told.clone(), |user| told.replace(" my ", &format!(" {user}'s ")));
    candidate(&format!("{{n}} {told}"), &name, MemoryCategory::Other, OF_OTHERS)
}

/// "'s a nurse" is "is a nurse", "'s got" is "has got".
fn in_full(rest: &str) -> String {
    let rest = rest.trim();
    let plural = rest.strip_prefix("'re").map(|rest| format!("are{rest}"));
    if let Some(plural) = plural.or_else(|| rest.strip_prefix("'ve").map(|rest| format!("have{rest}"))) {
        return plural;
    }
    let Some(of) = rest.strip_prefix("'s") else { return rest.to_owned() };
    // "He's been", "she's moved"; "he's married" is of the present.
    let done = matches!(
        words(of).next().as_deref(),
        Some("got" | "had" | "been" | "moved" | "lived" | "worked" | "always")
    );
    format!("{}{of}", if done { "has" } else { "is" })
}

/// What was said up to where the next thing begins.
fn rest(said: &str) -> Option<String> {
    let rest = TAIL.replace(said, "");
    let rest = FOR_NOW.replace_all(&rest, "");
    let rest = rest.trim().trim_end_matches(['.', ',', ':', ';', '!']).to_owned();
    (!rest.is_empty()).then_some(rest)
}

fn candidate(reported: &str, name: &str, category: MemoryCategory, score: u8) -> Option<Candidate> {
    let about = FIRST_PERSON.replace_all(reported, |said: &Captures<'_>| third_person_pronoun(&said[0]));
    let content = capitalised(&restored(&first_words(&about.replace("{n}", name), LONGEST)));
    (content.split_whitespace().count() >= 3)
        .then_some(Candidate { score, draft: MemoryDraft { content, category, evidence: None } })
}

fn third_person_pronoun(word: &str) -> &'static str {
    match word.to_lowercase().as_str() {
        "my" => "their",
        "mine" => "theirs",
        "me" => "them",
        "myself" => "themselves",
        "i'm" | "we're" => "they are",
        "i've" | "we've" => "they have",
        "our" => "their",
        "us" => "them",
        _ => "they",
    }
}
