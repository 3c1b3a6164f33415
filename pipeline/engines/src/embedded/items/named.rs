//! The things and people that a sentence names, and how much it is about each.

use crate::embedded::lexicon::{
    Listed, WordList, base_of_participle, ends_a_phrase, is_adjective, is_event_noun, is_person,
    is_stop_word, is_task_verb,
};
use crate::embedded::text::{decapitalised, ends_as_plural};

/// Something that was named.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    /// Without an article.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) many: bool,
    /// How much the sentence is about it.
    pub(super) weight: i32,
    /// In which sentence.
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Thing,
    Person,
    /// Those whom one writes to or calls: the council, the garage.
    Body,
}

/// A word, without the marks around it.
struct Token<'t> {
    said: &'t str,
    plain: String,
    /// A mark ends what it belongs to.
    ends: bool,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bare = |c: char| !c.is_alphanumeric() && c != '\'';
    text.split_whitespace()
        .filter_map(|said| {
            let word = said.trim_matches(bare);
            let ends = said.ends_with([',', '.', ';', ':', '?', '!', ')', '"']) && !said.ends_with("r.");
            (!word.is_empty()).then(|| Token { said: word, plain: word.to_lowercase(), ends })
        })
        .collect()
}

static ARTICLES: WordList = WordList::new(
    "the a an my our your his her their its this that these those some any no another two three four five six seven eight ten \
    twenty both all more new",
);
/// Before a noun without an article.
static BARE: WordList = WordList::new(
    "need needs needed about bring bringing get getting buy buying order want wants with lots plenty have got doing making no more any new of fresh proper",
);
/// Words that count what follows.
static COUNTS: WordList =
    WordList::new("other whole same own few couple lot lots bit several more two three four five six ten");
/// Words of no content that are a part of what follows.
static LEADS: WordList = WordList::new("new old last next first second third different long little big");
/// What a pronoun seldom means.
static NO_THINGS: WordList = WordList::new(
    "time times moment way ways week weekend day days morning afternoon evening night month months year years end one ones bit lot same other \
    others problem problems question questions thing things matter idea ideas point minute minutes hour hours couple few number side rest case course \
    word words reason kind sort people today tomorrow monday tuesday wednesday thursday friday saturday sunday world front back middle top bottom \
    row pity shame mess go chance luck fun job mind second seconds sec wait reach hand hands head fault turn pounds pound euros euro dollars \
    quid degrees percent miles weeks quarter half noon o'clock house home town left right start fact hurry favour favor weather god noise everything anything \
    something nothing",
);
/// Days of a month.
static ORDINALS: WordList = WordList::new(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth \
    eighteenth nineteenth twentieth thirtieth twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh \
    twenty-eighth twenty-ninth thirty-first",
);
/// Of these it matters what is in them.
static HOLDERS: WordList = WordList::new(
    "list copy copies pair box bottle bag set piece roll tin pack packet photo photos picture pictures stack pile sheet draft copy version letter form",
);
static BODIES: WordList = WordList::new(
    "council bank school nursery garage surgery insurance insurer insurers company agency office hotel restaurant venue club firm department police hospital \
    clinic gym library embassy airline printer's agents shop accountants solicitors lawyers organisers organizers members parents owners suppliers team church \
    bakery seller buyer vendor butcher's pharmacy chemist's landlord's university college board committee authority dealer dealership movers",
);
/// Gerunds that name things.
static NAMED_BY_ING: WordList = WordList::new(
    "heating meeting booking building painting wedding parking shopping washing drawing ceiling training railing string ring king evening lighting \
    bedding carpeting guttering flooring fencing seating recording listing posting filing filling rating reading setting warning",
);

/// What `text` names, in order.
pub(super) fn named(text: &str, at: usize) -> Vec<Mention> {
    let tokens = tokens(text);
    let asks = text.trim_end().ends_with('?');
    if let Some(name) = listed(text, &tokens) {
        return vec![Mention { name, kind: Kind::Thing, many: true, weight: 3, at }];
    }
    let mut found: Vec<Mention> = Vec::new();
    let mut from = 0;
    while from < tokens.len() {
        let Some((mention, to)) = mention_at(&tokens, from, at) else {
            from += 1;
            continue;
        };
        found.push(Mention { weight: mention.weight + i32::from(asks), ..mention });
        from = to.max(from + 1);
    }
    found
}

/// "Plates, cups, balloons.": things without a verb.
fn listed(text: &str, tokens: &[Token<'_>]) -> Option<String> {
    let said = text.trim_end_matches(['.', '!', '?', ' ']);
    let parts: Vec<&str> = said.split(", ").collect();
    let names = |part: &&str| {
        let words = part.split(' ').count();
        words < 4
            && part.split(' ').all(|word| {
                LIST.has(&word.to_lowercase())
                    || !is_stop_word(&word.to_lowercase())
                        && !ends_a_phrase(&word.to_lowercase())
                        && !word.contains('\'')
            })
    };
    let things = tokens.iter().filter(|token| !LIST.has(&token.plain)).count();
    let last = tokens.last()?.plain.as_str();
    (parts.len() > 1 && things > 1 && parts.iter().all(names) && is_plural(last)).then(|| decapitalised(said))
}

static LIST: WordList = WordList::new("and or a an the some");

/// The noun phrase that begins at `from`, and where it ends.
fn mention_at(tokens: &[Token<'_>], from: usize, at: usize) -> Option<(Mention, usize)> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.plain.as_str());
    let before = from.checked_sub(1).map_or("", word);
    let ended =
        from == 0 || from.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|token| token.ends);
    let article = ARTICLES.has(word(from)) && !tokens.get(from)?.ends;
    let bare = BARE.has(before) && !ended;
    if !article && !bare && !ended && before != "there's" && before != "of" {
        return None;
    }
    let first = if article { from + 1 } else { from };
    let first = (first..first + 3)
        .find(|at| {
            LEADS.has(word(*at)) || !(ARTICLES.has(word(*at)) || COUNTS.has(word(*at)) || word(*at) == "of")
        })
        .unwrap_or(first);
    let (name, to) = phrase(tokens, first)?;
    let head = name.rsplit(' ').next()?.to_lowercase();
    let many = is_plural(&head);
    // Without an article, a plural or a fragment names something: "posters?".
    let alone = ended && tokens.get(to - 1).is_some_and(|token| token.ends) && to - from < 4;
    // "We're out of milk."
    let out = before == "of" && from > 1 && word(from - 2) == "out";
    let there = (before == "there's" || out) && !ended;
    if !(article || there || many && (bare || alone)) {
        return None;
    }
    let holds = HOLDERS.has(&head) && word(to) == "of" && !tokens.get(to - 1)?.ends;
    let (name, to) = match holds.then(|| held(tokens, to + 1)).flatten() {
        Some((content, to)) => (format!("{name} of {content}"), to),
        None => (name, to),
    };
    let single = head.strip_suffix('s').unwrap_or(&head);
    let kind = if BODIES.has(&head) {
        Kind::Body
    } else if is_person(&head) || is_person(single) {
        Kind::Person
    } else {
        Kind::Thing
    };
    let next = word(to);
    let placed = matches!(
        before,
        "in" | "at"
            | "under"
            | "behind"
            | "by"
            | "from"
            | "near"
            | "into"
            | "through"
            | "during"
            | "after"
            | "before"
            | "since"
            | "until"
            | "outside"
            | "inside"
            | "on"
            | "to"
            | "next"
            | "past"
            | "than"
            | "like"
            | "as"
    );
    let tied = matches!(before, "of" | "with");
    let opens = ended
        || matches!(
            before,
            "also"
                | "oh"
                | "so"
                | "well"
                | "btw"
                | "anyway"
                | "now"
                | "then"
                | "plus"
                | "and"
                | "but"
                | "because"
                | "if"
                | "that"
                | "is"
                | "are"
                | "when"
                | "once"
                | "'s"
        );
    let predicated = matches!(
        next,
        "is" | "are"
            | "isn't"
            | "aren't"
            | "was"
            | "were"
            | "has"
            | "have"
            | "hasn't"
            | "haven't"
            | "needs"
            | "need"
            | "still"
            | "keeps"
            | "runs"
            | "doesn't"
            | "don't"
            | "won't"
            | "expires"
            | "ran"
            | "broke"
    ) || tokens.get(to - 1).is_some_and(|token| token.plain.ends_with("'s"));
    let about = matches!(before, "about" | "regarding" | "need" | "needs" | "found" | "got" | "have");
    let told = matches!(before, "it's" | "that's" | "he's" | "she's" | "i'm" | "as");
    let about = about || matches!(before, "there's" | "wants" | "want");
    let fresh = matches!(word(from), "a" | "an" | "some" | "another" | "new" | "two" | "three");
    let mut weight = 0;
    weight += if placed {
        -2
    } else if tied {
        -1
    } else {
        0
    };
    weight += if told { -2 } else { 0 };
    weight += if opens && predicated { 2 } else { 0 };
    weight += i32::from(about) + i32::from(fresh);
    let (many, weight) = if out { (true, 2) } else { (many, weight) };
    Some((Mention { name, kind, many, weight, at }, to))
}

/// What a list, a box or a copy is of.
fn held(tokens: &[Token<'_>], from: usize) -> Option<(String, usize)> {
    let first =
        (from..from + 2).find(|at| tokens.get(*at).is_some_and(|token| !ARTICLES.has(&token.plain)))?;
    phrase(tokens, first)
}

/// The words from `first` on that name something: up to four of content.
fn phrase(tokens: &[Token<'_>], first: usize) -> Option<(String, usize)> {
    let mut to = first;
    while let Some(token) = tokens.get(to).filter(|_| to - first < 4) {
        let plain = token.plain.as_str();
        let whose = plain.ends_with("'s") || plain.ends_with("s'");
        let stem = plain.strip_suffix("'s").unwrap_or(plain);
        let leads = LEADS.has(plain) && !token.ends;
        if is_stop_word(stem) && !leads
            || plain.ends_with("n't")
            || plain.contains('\'') && !whose
            || ends_a_phrase(plain)
        {
            break;
        }
        to += 1;
        let goes_on = tokens.get(to).is_some_and(|next| {
            !is_stop_word(&next.plain)
                && !is_adjective(&next.plain)
                && base_of_participle(&next.plain).is_none()
                && !next.plain.ends_with("ing")
        });
        if token.ends || whose && !goes_on {
            break;
        }
    }
    let mut end = to;
    while end > first + 1 {
        let Some(last) = tokens.get(end - 1) else { break };
        let plain = last.plain.as_str();
        let acts = plain.ends_with("ing") && !NAMED_BY_ING.has(plain) && !is_event_noun(plain)
            || plain.ends_with("ed") && base_of_participle(plain).is_some()
            || is_adjective(plain)
            || plain.ends_with("ly")
            || plain
                .strip_suffix('s')
                .is_some_and(|base| is_task_verb(base) || matches!(base, "run" | "come" | "go"))
                && tokens.get(end).is_some_and(|next| {
                    ARTICLES.has(&next.plain)
                        || matches!(
                            next.plain.as_str(),
                            "out" | "off" | "up" | "down" | "on" | "it" | "me" | "us" | "you" | "them"
                        )
                })
            || plain.len() > 5 && plain.ends_with("er") && is_adjective(plain.trim_end_matches("er"))
            || is_task_verb(plain)
                && tokens.get(end).is_some_and(|next| {
                    ARTICLES.has(&next.plain)
                        || matches!(next.plain.as_str(), "me" | "us" | "it" | "them" | "you" | "up" | "to")
                });
        if !acts {
            break;
        }
        end -= 1;
    }
    let words: Vec<&str> = tokens.get(first..end)?.iter().map(|token| token.said).collect();
    let name = words.join(" ");
    let name = name.strip_suffix("'s").unwrap_or(&name);
    let head = name.rsplit(' ').next()?.to_lowercase();
    let gerund = head.ends_with("ing") && head.len() > 5 && !NAMED_BY_ING.has(&head) && !is_event_noun(&head);
    let counted = head.len() > 4
        && ["th", "nd", "rd", "st"].iter().any(|end| head.ends_with(end))
        && ORDINALS.has(&head);
    let real = head.len() > 2
        && !gerund
        && !counted
        && head.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\'')
        && !NO_THINGS.has(&head)
        && !LEADS.has(&head)
        && !is_adjective(&head);
    real.then(|| (name.to_owned(), end))
}

fn is_plural(head: &str) -> bool {
    let plural = ends_as_plural(head) && head.len() > 3 && !head.ends_with("is") && !head.ends_with("'s");
    plural || matches!(head, "people" | "children" | "men" | "women" | "feet" | "teeth")
}
