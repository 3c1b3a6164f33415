//! The things and the person that were named last, for "it", "them" and "him".

use std::sync::LazyLock;

use super::WITHIN_REACH;
use super::mentions::Mentions;
use crate::embedded::events::{last_person, last_thing};
use crate::embedded::pattern::Pattern;
use crate::embedded::phrases::names;
use crate::embedded::text::{decapitalised, ends_as_plural, pattern, words};

/// The things that were named last, for "it" and "them".
#[derive(Default)]
pub(super) struct Things {
    one: Named,
    many: Named,
    /// The person that was named last, for "him" and "her".
    pub(super) person: Option<String>,
    /// What else was named lately.
    mentions: Mentions,
}

/// A thing, and how many sentences ago it was named.
#[derive(Default)]
struct Named {
    name: Option<String>,
    ago: usize,
}

impl Things {
    pub(super) fn heard(&mut self, sentence: &str) {
        (self.one.ago, self.many.ago) = (self.one.ago + 1, self.many.ago + 1);
        // "They're in my garage" names no other thing.
        // "My insurance wants it": "it" was named before, and is not the insurance.
        let rest = WANTS_IT.find(sentence).and_then(|found| sentence.get(found.end()..));
        let named = THERE_IS
            .captures(sentence)
            .map(|found| format!("the {}", &found["thing"]))
            .or_else(|| last_thing(rest.unwrap_or(sentence)))
            .or_else(|| topic(sentence))
            .or_else(|| fragment(sentence))
            .filter(|_| !SOMEWHERE.is_match(sentence));
        match named {
            Some(name) if ends_as_plural(&name) => self.many = Named { name: Some(name), ago: 0 },
            Some(name) => self.one = Named { name: Some(name), ago: 0 },
            None => {}
        }
        self.person = last_person(sentence).or(self.person.take());
        self.mentions.heard(sentence);
    }

    /// What the pronoun of `task` means.
    pub(super) fn meant(&self, task: &str, before: &str) -> Option<String> {
        self.mentions.meant(task, before)
    }

    /// `task` with what its pronoun means.
    pub(super) fn filled(&self, task: &str, before: &str) -> Option<String> {
        self.mentions.filled(task, before)
    }

    /// Puts in `description` what a pronoun that is left in it means; `before` is what the sentence says before.
    pub(super) fn explain(&self, description: &mut String, before: &str) {
        if let Some(explained) = self.mentions.explained(description, before) {
            *description = explained;
        }
    }

    /// What "it" or "them" means where the sentence right before names a thing of its number.
    pub(super) fn just_named(&self, task: &str) -> Option<String> {
        let many = words(task).any(|word| matches!(word.as_str(), "them" | "those" | "these"));
        let named = if many { &self.many } else { &self.one };
        named.name.clone().filter(|_| named.ago == 0)
    }

    /// What "it" or "them" means: the latest of its number, if it is near.
    pub(super) fn meant_by(&self, task: &str) -> Option<String> {
        let near = |named: &Named| named.name.clone().filter(|_| named.ago <= WITHIN_REACH);
        let many = words(task).any(|word| matches!(word.as_str(), "them" | "those" | "these"));
        if many { near(&self.many).or_else(|| near(&self.one)) } else { near(&self.one) }
    }
}

/// "What about posters?", "who's doing invitations?": what is asked about.
fn topic(sentence: &str) -> Option<String> {
    TOPIC.captures(sentence).map(|found| format!("the {}", &found["thing"]))
}

static TOPIC: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|so|ok|okay|right|now|well)\W+)*(?:(?:what|how)\s+about|who(?:'s|\s+is)\s+(?:doing|getting|bringing|making))\s+(?P<thing>(?:[\p{L}-]+\s)?[\p{L}-]{3,}s)\s*\?",
    )
});

/// "Word counts, mostly.": a noun phrase alone names a thing, too.
fn fragment(sentence: &str) -> Option<String> {
    let said = sentence.split([',', '.', '!', '?']).next()?.trim();
    let words: Vec<&str> = said.split(' ').collect();
    let noun = words.len() > 1 && words.len() < 5 && words.iter().all(|word| names(word));
    (noun && ends_as_plural(said)).then(|| format!("the {}", decapitalised(said)))
}

/// "There's soup in the freezer": soup.
static THERE_IS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|oh|well|ok|okay)\W+)*there(?:'s|\s+is|\s+are)\s+(?:still\s+|also\s+)?(?:some\s+|an?\s+)?(?P<thing>[\p{L}-]{3,}(?:\s[\p{L}-]{3,})?)\s+(?:left\s+)?(?:in|on|under|behind)\s+the\s+\p{L}+\W*$",
    )
});

static WANTS_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:the|my|our|your|his|her|their)\s+(?:[\p{L}-]+\s+){1,2}?(?:wants?|needs?|asked\s+for|asks\s+for|requires?|expects?|has\s+to\s+have|gets?|wrote|sent|made|likes?|loves?)\s+(?:it|them)\b",
    )
});

static SOMEWHERE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|yes|yeah|no|well|ok|okay)\W+)*(?:it's|they're|it\s+is|they\s+are|that's)\s+(?:still\s+|all\s+)?(?:in|on|at|under|behind|by|with|next)\b",
    )
});

/// The thing that `before` names last, for a pronoun after it: of "the certificate expires on Friday" the certificate.
pub(super) fn thing_of(before: &str) -> Option<String> {
    let last = last_thing(before);
    let subject = || SUBJECT.captures(before).map(|found| decapitalised(found["thing"].trim()));
    match last {
        None => subject(),
        Some(thing) => subject().filter(|subject| thing.starts_with(&format!("{subject} "))).or(Some(thing)),
    }
}

/// "My passport runs out", "the chain's worn".
static SUBJECT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?P<thing>(?:the|my|our|your|his|her|their|this|that)\s+(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+?)(?:'s\s|\s+(?:is|are|isn't|runs|expires|has|hasn't|doesn't|won't|broke|stopped|failed|leaks|ran|died|looks|smells|keeps|ends)\b)",
    )
});

/// What `task` is done to, for the pronoun of `next`: of "take a picture of the meter" the picture.
pub(super) fn object_of(task: &str, next: &str) -> Option<String> {
    let many = words(next).any(|word| matches!(word.as_str(), "them" | "those" | "these"));
    let found = OBJECT.captures(task)?;
    let (one, other) = (found["one"].trim(), found.name("other").map(|other| other.as_str().trim()));
    let object = match other {
        Some(other) if many => format!("{one} and {other}"),
        _ if many == ends_as_plural(one) => one.to_owned(),
        _ => return None,
    };
    let bare = object.strip_prefix("a ").or_else(|| object.strip_prefix("an "));
    let bare = bare.or_else(|| object.strip_prefix("some ")).map(|bare| format!("the {bare}"));
    Some(bare.unwrap_or(object))
}

/// The object of a verb: a determiner, and up to three words to where the next phrase begins.
static OBJECT: LazyLock<Pattern> = LazyLock::new(|| {
    let noun = r"(?:the|an?|my|your|our|his|her|their|this|that|those|these|some|all\s+the|two|three|four|\d+)(?:\s+[\p{L}\d'-]+){1,3}?";
    pattern(&format!(
        r"(?i)^\p{{L}}+(?:\s+(?:up|out|in|down|off|back|over|away|together|me|us|you|him|her|them))?\s+(?P<one>{noun})(?:\s+and\s+(?P<other>{noun}))?(?:[,.]|$|\s+(?:of|on|in|at|for|from|to|with|by|under|over|before|after|until|that|which|who|and|about|into|onto|up|out|off|down|back|when|where|as|so|because|today|tomorrow|tonight|please)\b)"
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_thing_is_is_not_what_it_means() {
        for (before, thing) in [
            ("The form's been on my table for weeks,", "the form"),
            ("and the washing's still on the line,", "the washing"),
            ("I put it on the table,", "the table"),
        ] {
            assert_eq!(thing_of(before).as_deref(), Some(thing), "{before}");
        }
    }
}
