//! Memories: lasting facts about the user, and about the people around the user.

mod category;
mod rules;

use records::{MemoryCategory, Talk};
use regex::Captures;
use stages::MemoryDraft;

use super::capitals::restored;
use super::clauses::{self, Clause};
use super::planted::without_orders;
use super::same::known_facts;
use super::text::{Sentence, capitalised, first_words, sentences, third_person};
use crate::embedded::pattern::Pattern;
pub(super) use category::category_of;
use rules::{CONDITION, DIET, DOUBT, EVERY, FIRST_PERSON, FOR_NOW, OTHERS, OWN, PROFESSION, PRONOUN, TAIL};

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
    let mut found: Vec<Candidate> = Vec::new();
    for sentence in without_orders(sentences(talk)) {
        if found.len() >= CANDIDATES {
            break;
        }
        let Some(sentence) = stated(sentence) else { continue };
        let of_user = sentence.is_user || !user_is_known;
        if of_user {
            let name = talk.user_name.as_deref().unwrap_or("User");
            found.extend(certain_clauses(&sentence).flat_map(|clause| own(clause.text, name)));
        }
        found.extend(of_others(&sentence));
    }
    found
}

/// A sentence as far as it states something: of "I'm allergic to nuts, do you know?" what stands before the comma.
fn stated(mut sentence: Sentence<'_>) -> Option<Sentence<'_>> {
    if sentence.text.ends_with('?') {
        let comma = sentence.text.rfind(", ")?;
        sentence.text.truncate(comma);
    }
    Some(sentence)
}

/// The clauses of a sentence that neither doubt nor depend.
fn certain_clauses<'t>(sentence: &'t Sentence<'_>) -> impl Iterator<Item = Clause<'t>> {
    let certain = |clause: &Clause<'_>| !DOUBT.is_match(clause.text) && !clauses::is_condition(clause.text);
    clauses::split(&sentence.text).into_iter().filter(certain)
}

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

fn own(text: &str, name: &str) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = OWN
        .iter()
        .filter_map(|rule| {
            let said = rule.said.captures(text)?;
            let part = |group: &str| said.name(group).map_or("", |part| part.as_str());
            let content = rule
                .told
                .replace("{k}", part("k"))
                .replace("{v}", part("v"))
                .replace("{r}", &rest(part("r"))?);
            candidate(&content, name, rule.category, rule.score)
        })
        .collect();
    let plain = |rule: &Pattern, told: &str, category, score| {
        let said = rule.captures(text)?;
        candidate(&format!("{{n}} {told} {}", &said["r"]), name, category, score)
    };
    found.extend(plain(&DIET, "is", MemoryCategory::Lifestyle, 9));
    found.extend(plain(&PROFESSION, "is", MemoryCategory::Work, 8));
    found.extend(plain(&CONDITION, "has", MemoryCategory::Core, 9));
    found.extend(EVERY.captures(text).and_then(|said| habit(&said, name)));
    found
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
            | "have"
            | "can"
            | "will"
            | "need"
            | "want"
            | "am"
            | "must"
    );
    if auxiliary || verb.ends_with("ed") {
        return None;
    }
    candidate(&format!("{{n}} {} {}", third_person(&verb), &said["r"]), name, MemoryCategory::Habits, 7)
}

fn of_others(sentence: &Sentence<'_>) -> Option<Candidate> {
    if DOUBT.is_match(&sentence.text) {
        return None;
    }
    let said = OTHERS.captures(&sentence.text).or_else(|| PRONOUN.captures(&sentence.text))?;
    let name = &said["n"];
    if super::lexicon::is_stop_word(&name.to_lowercase()) {
        return None;
    }
    let rest = rest(&said["r"])?;
    let told =
        if rest.starts_with("allergic") { format!("{{n}} is {rest}") } else { format!("{{n}} {rest}") };
    candidate(&told, name, MemoryCategory::Other, 4)
}

/// What was said up to where the next thing begins.
fn rest(said: &str) -> Option<String> {
    let rest = TAIL.replace(said, "");
    let rest = FOR_NOW.replace_all(&rest, "");
    let rest = rest.trim().trim_end_matches(['.', ',', ':', ';', '!']).to_owned();
    (!rest.is_empty()).then_some(rest)
}

fn candidate(told: &str, name: &str, category: MemoryCategory, score: u8) -> Option<Candidate> {
    let about = FIRST_PERSON.replace_all(told, |said: &Captures<'_>| third_person_pronoun(&said[0]));
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
        "i'm" => "they are",
        _ => "they",
    }
}
