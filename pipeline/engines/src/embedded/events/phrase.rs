//! A clause with a date, as words.

use std::ops::Range;

use crate::embedded::dates::Found;
use crate::embedded::lexicon::{Listed, WordList, ends_a_phrase, is_person, is_stop_word};
use crate::embedded::text::capitalised;

/// A word as it was said, and in lower case without what surrounds it.
#[derive(Clone, Debug)]
pub(super) struct Word<'t> {
    pub(super) said: &'t str,
    pub(super) plain: String,
}

/// What a clause says before its date, and after it.
pub(super) struct Said<'t> {
    pub(super) before: Vec<Word<'t>>,
    pub(super) after: Vec<Word<'t>>,
    /// The clause without the date.
    pub(super) all: Vec<Word<'t>>,
    /// The date is an hour without a day.
    pub(super) hour_alone: bool,
    /// The date says an hour.
    pub(super) timed: bool,
    /// A comma or a stop ends what the date belongs to: "it's on the third, gates open at eleven".
    pub(super) ended: bool,
}

impl<'t> Said<'t> {
    /// The words of `piece`, apart from those of any of `dates`; `date` is the one that the clause is about.
    pub(super) fn new(text: &'t str, piece: &Range<usize>, date: &Found, dates: &[Found]) -> Self {
        let start = date.spans.first().map_or(piece.start, |span| span.start);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let bare = |c: char| !c.is_alphanumeric() && c != '\'';
        let mut at = piece.start;
        for part in text.get(piece.clone()).unwrap_or_default().split_inclusive(char::is_whitespace) {
            let place = at;
            at += part.len();
            let said = part.trim().trim_matches(bare);
            let dated =
                dates.iter().flat_map(|date| &date.spans).any(|span| span.start < at && place < span.end);
            if !said.is_empty() && !dated {
                let word = Word { said, plain: said.to_lowercase() };
                if place < start { before.push(word) } else { after.push(word) }
            }
        }
        let all = before.iter().chain(&after).cloned().collect();
        let end = date.spans.last().map_or(piece.start, |span| span.end);
        let ended = text.get(end..).is_some_and(|rest| rest.starts_with([',', '.', ';', '!']));
        Self { before, after, all, hour_alone: date.bare, timed: date.time().is_some(), ended }
    }
}

impl Word<'_> {
    /// Written with a capital, and not because a sentence begins.
    pub(super) fn is_name(&self) -> bool {
        self.said.starts_with(char::is_uppercase) && !is_stop_word(&self.plain)
    }

    pub(super) fn is_any(&self, list: &(impl Listed + ?Sized)) -> bool {
        list.has(&self.plain)
    }
}

pub(super) static DETERMINERS: WordList = WordList::new(
    "the a an my your our his her their its this that these those another some next first second third final last annual one",
);
pub(super) static PRONOUNS: WordList = WordList::new(
    "i you he she it we they me him us them who which what that this there everyone everybody someone somebody nobody \
    i'm you're he's she's it's we're they're who's that's there's what's i'll you'll he'll she'll it'll we'll they'll i've you've we've they've i'd we'd you'd",
);
/// What a noun phrase does not go back over.
static BREAKS: WordList = WordList::new(
    "am is are was were be been being has have had do does did will would can could should must may might shall let \
    think know said says say guess hope mean remember told tell see heard hear because but so if when while then since though although whether that \
    and or well ok okay oh yes yeah no right anyway also plus besides remind reminder not there here please sorry thanks of-course \
    by btw way as like just only even really actually on in at to into before after until by than about from during need want like love forget don't remember \
    good great fine lovely perfect noted morning hi hello hey listen everyone mind all",
);

/// The noun phrase that ends right before place `end` of `words`, without the determiner.
pub(super) fn noun_phrase_before<'a, 't>(words: &'a [Word<'t>], end: usize) -> Option<&'a [Word<'t>]> {
    let mut from = end;
    while from > 0 && end - from < 7 {
        let word = words.get(from - 1)?;
        let linked = (word.is_any("of with for to at from against")
            || word.plain == "by" && words.get(from).is_some_and(Word::is_name))
            && from < end
            && from >= 2;
        let joined = word.plain == "and" && words.get(from).is_some_and(Word::is_name);
        let breaks =
            word.is_any(&PRONOUNS) && !word.is_any("this that") || word.is_any(&BREAKS) || is_verb(word);
        if breaks && !linked && !joined {
            break;
        }
        from -= 1;
    }
    let phrase = words.get(from..end)?;
    let phrase = stripped(phrase);
    let content = phrase.iter().any(|word| !is_stop_word(word.plain.trim_end_matches("'s")));
    let ends_well =
        phrase.last().is_some_and(|word| !word.is_any(&DETERMINERS) && !word.is_any("of with for"));
    (content && ends_well).then_some(phrase)
}

/// Nouns that "it" seldom means.
static NO_THINGS: WordList = WordList::new(
    "time times moment way week weekend day days morning afternoon evening night month year end one ones bit lot same other others \
    problem question thing things matter idea point minute hour hours couple few number side rest case course word number reason kind sort people \
    today tomorrow monday tuesday wednesday thursday friday saturday sunday world front back middle top bottom row pity shame mess go",
);

/// The last thing that `text` names with a determiner, as "it" may mean it: "the speaker".
pub(in crate::embedded) fn last_thing(text: &str) -> Option<String> {
    // "Collect some, Wanda" names no Wanda.
    text.rsplit([',', ';', ':', '?', '!']).find_map(last_thing_of)
}

fn last_thing_of(text: &str) -> Option<String> {
    let bare = |c: char| !c.is_alphanumeric() && c != '\'';
    let said = text.split_whitespace().map(|word| word.trim_matches(bare)).filter(|word| !word.is_empty());
    let words: Vec<Word<'_>> = said.map(|said| Word { said, plain: said.to_lowercase() }).collect();
    (0..words.len()).rev().find_map(|at| {
        let determiner = words
            .get(at)
            .filter(|word| word.is_any("the a an my our some that this your his her their those these two three four five six ten any"))?;
        // "The notes from the lectures" are notes.
        if at > 1
            && words.get(at - 1).is_some_and(|word| word.is_any("of from for in on with about at"))
            && is_determined(&words, at - 2)
        {
            return None;
        }
        // "The form's been on my table" is about the form.
        if at > 2 && is_placed_by(&words, at - 1) {
            return None;
        }
        let mut phrase = noun_phrase_from(&words, at + 1);
        // "A music stand of ours" is a music stand.
        if let [thing @ .., of, whose] = phrase
            && of.plain == "of"
            && whose.is_any("ours mine yours theirs his hers")
        {
            phrase = thing;
        }
        // "A short summary of your projects" is a summary.
        if phrase.len() > 3
            && let Some(of) = phrase.iter().position(|word| word.is_any("of with"))
            && let Some(thing) = phrase.get(..of)
        {
            phrase = thing;
        }
        let last = phrase.last()?;
        let acts = phrase.windows(2).any(|two| {
            matches!(two, [who, act] if who.plain.ends_with("'s") && act.plain.ends_with("ing"))
        });
        let named = !last.is_any(&NO_THINGS)
            && !NO_THINGS.has(last.plain.trim_end_matches('s'))
            && !acts
            && !is_stop_word(&last.plain)
            && !is_person(&last.plain)
            && phrase.len() <= 3;
        let lead =
            if matches!(determiner.plain.as_str(), "my" | "our") { determiner.plain.as_str() } else { "the" };
        let phrase: Vec<&str> = phrase.iter().map(|word| word.said).collect();
        let phrase = phrase.join(" ");
        named.then(|| format!("{lead} {}", phrase.strip_suffix("'s").unwrap_or(&phrase)))
    })
}

/// Whether the preposition at `at` says where something is that was named before it.
fn is_placed_by(words: &[Word<'_>], at: usize) -> bool {
    let is = |word: &Word<'_>| word.is_any("is are was were been still") || word.plain.ends_with("'s");
    words.get(at).is_some_and(|word| word.is_any("on in at by under behind"))
        && words.get(at - 1).is_some_and(is)
        && words.get(..at - 1).is_some_and(|before| {
            before.iter().any(|word| word.is_any("the my our your his her their this that"))
        })
}

/// To whom one does it is a person.
static GIVES: WordList = WordList::new(
    "gave give giving given sent send sending talked talk talking spoke speak speaking spoken wrote write writing lent lend showed show \
    handed hand passed explained",
);
/// Days that are written like names.
static FEASTS: WordList =
    WordList::new("christmas boxing easter halloween thanksgiving hanukkah ramadan eid diwali new-year's");

/// The last person that `text` names: "my cousin" is "cousin".
pub(in crate::embedded) fn last_person(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\''))
        .collect();
    let led = |at: usize| {
        let before = at
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .map_or_else(String::new, |word| word.to_lowercase());
        // "I gave it to Carla" names her, "we drove to Carla" perhaps a place.
        let given = before == "to"
            && words
                .get(at.saturating_sub(5)..at)
                .unwrap_or_default()
                .iter()
                .any(|word| GIVES.has(&word.to_lowercase()));
        !given
            && matches!(
                before.as_str(),
                "in" | "at" | "to" | "from" | "over" | "near" | "until" | "since" | "before" | "after"
            )
    };
    let place = (0..words.len()).rev().find(|at| {
        let word = words.get(*at).copied().unwrap_or_default();
        let lower = word.to_lowercase();
        let bare = lower.trim_end_matches("'s");
        let name = *at > 0
            && word.starts_with(char::is_uppercase)
            && word.len() > 2
            && word.chars().any(char::is_lowercase)
            && !is_stop_word(bare)
            && !FEASTS.has(bare)
            && !PRONOUNS.has(&lower);
        // "He's a builder" tells of one who was named before.
        let predicate = ["a", "an"].iter().any(|article| {
            let before =
                |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).copied().unwrap_or_default();
            let tie = if before(1).eq_ignore_ascii_case(article) {
                before(2)
            } else if before(2).eq_ignore_ascii_case(article) {
                before(3)
            } else {
                ""
            };
            let tie = tie.to_lowercase();
            matches!(
                tie.as_str(),
                "is" | "was" | "am" | "he's" | "she's" | "i'm" | "are" | "they're" | "you're"
            )
        });
        (is_person(bare) || name && !led(*at)) && !predicate
    })?;
    let determined = |word: &&str| DETERMINERS.has(&word.to_lowercase());
    let before = place.checked_sub(1).and_then(|before| words.get(before)).filter(|before| {
        !is_stop_word(&before.to_lowercase()) && !determined(before) && !before.contains('\'')
    });
    let determined_pair = place.checked_sub(2).and_then(|at| words.get(at)).is_some_and(determined);
    let who = words.get(place)?.trim_end_matches("'s").trim_end_matches("'ll").trim_end_matches("'d");
    Some(match before.filter(|_| determined_pair) {
        Some(kind) => format!("{kind} {who}"),
        None => who.to_owned(),
    })
}

/// Whether the word at `at` ends a noun phrase with a determiner.
fn is_determined(words: &[Word<'_>], at: usize) -> bool {
    let from = at.saturating_sub(3);
    (from..=at).any(|at| words.get(at).is_some_and(|word| word.is_any("the a an my your our some")))
        && words.get(at).is_some_and(|word| !is_verb(word) && !is_stop_word(&word.plain))
}

fn is_verb(word: &Word<'_>) -> bool {
    !word.is_name()
        && !word.plain.contains('\'')
        && (ends_a_phrase(&word.plain) || word.plain.ends_with("n't"))
}

/// Without what leads a noun phrase and names nothing.
pub(super) fn stripped<'a, 't>(mut phrase: &'a [Word<'t>]) -> &'a [Word<'t>] {
    while let Some((first, rest)) = phrase.split_first() {
        let leads = first.is_any(&DETERMINERS)
            && !first.is_any("first second third final last annual next one")
            || first.is_any("of with for and item lastly finally today tomorrow now");
        if !leads {
            break;
        }
        phrase = rest;
    }
    phrase
}

/// The noun phrase that begins at place `from`: up to six words, "of" and "with" and what follows them included.
pub(super) fn noun_phrase_from<'a, 't>(words: &'a [Word<'t>], from: usize) -> &'a [Word<'t>] {
    let mut to = from;
    let mut linked = false;
    while let Some(word) = words.get(to).filter(|_| to - from < 6) {
        let link = word.is_any("of with") && to > from && !linked;
        let article = linked && word.is_any(&DETERMINERS);
        let stops =
            word.is_any(&PRONOUNS) || word.is_any(&BREAKS) || word.is_any("coming where for of with up");
        // "The last three tax returns": a noun, where nothing follows.
        let noun = to > from && to + 1 == words.len() && word.plain.ends_with('s');
        if stops && !link && !article || is_verb(word) && !noun {
            break;
        }
        linked |= link;
        to += 1;
    }
    let mut phrase = words.get(from..to).unwrap_or_default();
    while let Some((last, rest)) = phrase.split_last() {
        if !(last.is_any(&DETERMINERS) || last.is_any("of with")) {
            break;
        }
        phrase = rest;
    }
    stripped(phrase)
}

/// Words as a title.
pub(super) fn titled(words: &[Word<'_>]) -> String {
    let said: Vec<&str> = words.iter().map(|word| word.said).collect();
    capitalised(&said.join(" "))
}

/// Up to four words behind a verb, without whom it concerns ("us", "you").
pub(super) fn tail(said: &Said<'_>, at: usize) -> String {
    let words = said.all.as_slice();
    let rest = words.get(at + 1..).unwrap_or_default();
    let ends = |word: &&Word<'_>| {
        !word.is_any(
            "and but so because if when who which that until till for from by i we he she they it then since is are was isn't right",
        )
    };
    let kept: Vec<&str> = rest
        .iter()
        .take(5)
        .take_while(ends)
        .filter(|word| {
            !word.is_any(
                "us you me him her them here round straight right directly again also already probably most definitely hopefully maybe actually now then still just only anyway",
            )
        })
        .map(|word| word.said)
        .collect();
    let mut kept = kept.as_slice();
    while let Some((last, rest)) = kept.split_last() {
        if !matches!(
            last.to_lowercase().as_str(),
            "to" | "in"
                | "at"
                | "on"
                | "the"
                | "a"
                | "an"
                | "my"
                | "our"
                | "with"
                | "of"
                | "around"
                | "over"
                | "about"
                | "between"
                | "and"
        ) {
            break;
        }
        kept = rest;
    }
    kept.join(" ")
}
