//! Events that a noun names: "the recital is on Sunday", "there's a market", "for the review on Monday".

use std::collections::HashSet;
use std::sync::LazyLock;

use super::phrase::{
    DETERMINERS, PRONOUNS, Said, Word, noun_phrase_before, noun_phrase_from, stripped, tail, titled,
};
use crate::embedded::lexicon::{
    AMBIGUOUS_EVENT_NOUNS, EVENT_NOUNS, Listed, WordList, is_stop_word, is_task_verb,
};
use crate::embedded::text::capitalised;

/// What may stand between a subject and its date when the date is all that is said of it.
static PREDICATE: WordList = WordList::new(
    "is are will would be being has have been it's takes take taking place happens happening held scheduled planned booked set fixed arranged moved \
    postponed preponed rescheduled slipped pushed brought forward back put off shifted now just only still actually probably already definitely again \
    going to gonna got gets stays remains falls confirmed down in for on at from until up always kicks off due itself announced",
);
/// Of these, those with which it is a predicate at all.
static COPULAS: WordList =
    WordList::new("is are will would has have takes take happens stays remains falls got kicks");
/// Nouns that are on a day without taking place.
static IDLE: WordList = WordList::new(
    "time point problem question idea plan thing way chance reason answer rest day week month year issue news weather rain sun \
    lot bit few couple look feeling choice minute moment hand word favour favor cold headache rent invoice bill payment fee report form homework essay assignment",
);
/// Whom or what one goes to see: they name an appointment right before its date.
static APPOINTMENTS: WordList = WordList::new(
    "dentist doctor doctor's gp vet vet's physio hairdresser hairdresser's barber optician optician's orthodontist \
    dermatologist therapist midwife surgeon hygienist chiropractor clinic hospital dentist's",
);

static NOUNS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| EVENT_NOUNS.iter().copied().collect());

/// "The recital is on Sunday": the subject of a clause whose predicate is its date.
pub(super) fn predicate(said: &Said<'_>) -> Option<String> {
    let words = said.before.as_slice();
    let mut end = words.len();
    let mut copula = false;
    while let Some(word) = end.checked_sub(1).and_then(|last| words.get(last)) {
        if !word.is_any(&PREDICATE) {
            break;
        }
        // "The retro moved to tomorrow".
        let moved = word.is_any("moved postponed rescheduled preponed pushed brought slipped")
            && words.get(end).is_some_and(|next| next.is_any("to until till forward back"));
        // "A table for three booked Friday", as notes put it.
        let noted = word.is_any("booked confirmed scheduled") && end == words.len();
        copula |= word.is_any(&COPULAS) || moved || noted;
        end -= 1;
    }
    let last = words.get(end.checked_sub(1)?)?;
    // What is due back is brought.
    let due = words
        .get(end..)?
        .windows(2)
        .any(|pair| matches!(pair, [due, back] if due.plain == "due" && back.plain == "back"));
    if last.is_any(&PRONOUNS) || due {
        return None;
    }
    let contracted = last.plain.ends_with("'s") && !copula;
    if !copula && !contracted {
        return None;
    }
    let subject = noun_phrase_before(words, end)?;
    let subject = with_topic(words, end, subject);
    if subject.iter().all(|word| word.is_any(&IDLE) || is_stop_word(&word.plain))
        || subject.last().is_some_and(|last| IDLE.has(last.plain.trim_end_matches("'s")))
    {
        return None;
    }
    let title = titled(subject);
    Some(title.trim_end_matches("'s").to_owned())
}

/// "The test on this chapter": what takes place, and not what it is about.
pub(super) fn with_topic<'a, 't>(
    words: &'a [Word<'t>],
    end: usize,
    subject: &'a [Word<'t>],
) -> &'a [Word<'t>] {
    let from = end.saturating_sub(subject.len());
    let tie = (0..from).rev().find(|at| !words.get(*at).is_some_and(|word| word.is_any(&DETERMINERS)));
    let tied = tie.filter(|at| words.get(*at).is_some_and(|word| word.is_any("on about in for at")));
    let noun = tied
        .and_then(|at| nouns_in(words.get(..at).unwrap_or_default()).into_iter().find(|(_, to)| *to == at));
    noun.map_or(subject, |(from, to)| stripped(words.get(from..to).unwrap_or_default()))
}

/// Whether a word names nothing that takes place.
pub(super) fn is_idle(word: &str) -> bool {
    let word = word.trim_end_matches("'s");
    IDLE.has(word) || is_stop_word(word)
}

/// "It's on the third": a date, said of what was named before.
pub(super) fn is_of_it(said: &Said<'_>) -> bool {
    let mut words = said.before.iter().filter(|word| {
        !word
            .is_any("and so oh but well yes yeah no ok okay now just still on at in only mum dad mom i think")
    });
    let first = words.next();
    // "The trip? They're going on the eighth."
    if first.is_some_and(|word| word.is_any("they're we're")) {
        return words.next().is_some_and(|word| word.plain == "going") && words.next().is_none();
    }
    first.is_some_and(|word| word.is_any("it's it its that's"))
        && words.all(|word| word.is_any("is will be now moved been has to for from again actually starts begins kicks off"))
        && (said.ended || said
            .after
            .first()
            .is_none_or(|next| next.is_any("at in and so like but by then i we from not for right isn't free with no bring everyone all you they there which as")))
}

/// "Can you come in on Monday?"
pub(super) fn invites(said: &Said<'_>) -> bool {
    said.before.windows(3).any(|three| {
        let [can, you, come] = three else { return false };
        can.is_any("can could would") && you.plain == "you" && come.is_any("come pop")
    })
}

/// What takes place, as `text` names it last.
pub(super) fn happening_in(text: &str) -> Option<String> {
    let bare = |c: char| !c.is_alphanumeric() && c != '\'';
    let said = text.split_whitespace().map(|word| word.trim_matches(bare)).filter(|word| !word.is_empty());
    let words: Vec<Word<'_>> = said.map(|said| Word { said, plain: said.to_lowercase() }).collect();
    nouns_in(&words).last().map(|noun| with_company(&words, *noun))
}

/// "There's a seed swap on Sunday", "we have a party of thirty on Friday".
pub(super) fn existence(said: &Said<'_>) -> Option<String> {
    let words = said.all.as_slice();
    let at = words.iter().enumerate().find_map(|(at, word)| {
        let next = words.get(at + 1)?;
        match word.plain.as_str() {
            "there's" => Some(at + 1),
            "there" if next.is_any("is are") => Some(at + 2),
            "there" if next.plain == "will" => Some(at + 3),
            "have" | "has" | "got" if !next.is_any("to been a-look") => Some(at + 1),
            _ if word.plain.ends_with("'ve") && next.plain == "got" => Some(at + 2),
            _ => None,
        }
    })?;
    let determiner = words.get(at)?;
    // "I've got yoga at seven", "he has choir on Thursday": an activity alone.
    let activity = !words.get(at - 1)?.is_any("there there's is are will")
        && noun_phrase_from(words, at).len() == 1
        && words
            .get(at + 1)
            .is_none_or(|next| next.is_any("with at in and so but after before until from till straight"))
        && !determiner.is_any(&UNDONE)
        && !determiner.plain.ends_with("ed");
    if !(determiner.is_any(&DETERMINERS) || activity || is_event_noun(words, at)) {
        return None;
    }
    let phrase = noun_phrase_from(words, at);
    // "There's a man coming about the fence."
    if let Some(coming) = words.iter().position(|word| word.is_any("coming visiting"))
        && words.get(coming - 1).map(|word| word.said) == phrase.last().map(|word| word.said)
    {
        return Some(
            format!("{} {} {}", titled(phrase), words.get(coming)?.plain, tail(said, coming))
                .trim()
                .to_owned(),
        );
    }
    let head = phrase
        .iter()
        .position(|word| word.is_any("of with"))
        .map_or(phrase.last(), |of| phrase.get(of.checked_sub(1)?));
    // "The walk through with the client".
    let named = |head: &&Word<'_>| {
        !head.is_any(&IDLE) && (!is_stop_word(&head.plain) || head.is_any("through up off over"))
    };
    head.filter(named).map(|_| titled(phrase))
}

/// What one has without its taking place.
static UNDONE: WordList = WordList::new(
    "time work space room plans money news questions something nothing everything anything it that this them one two three four five six \
    more enough some lots plenty access until till no not been to got had people kids stuff things",
);

/// The event noun that stands nearest before the date, else the first after it, with the words that describe it.
pub(super) fn named(said: &Said<'_>) -> Option<String> {
    // "Movie Friday, seven fifteen", as notes and young people put it.
    if let [.., noun] = said.before.as_slice()
        && said.before.len() < 3
        && is_listed(&noun.plain)
        && !is_task_verb(&noun.plain)
        && said.before.iter().rev().skip(1).all(|word| word.is_any("and so ok okay also the our my then oh"))
    {
        return Some(capitalised(noun.said));
    }
    let before = nouns_in(&said.before);
    let Some(noun) = before.last() else {
        let after = nouns_in(&said.after);
        return after.first().map(|noun| with_company(&said.after, *noun)).or_else(|| appointment(said));
    };
    Some(with_company(&said.before, *noun))
}

/// "See the dentist on Monday", "dentist on Monday": right before the date.
fn appointment(said: &Said<'_>) -> Option<String> {
    let last = said.before.last().filter(|last| last.is_any(&APPOINTMENTS))?;
    let phrase = noun_phrase_before(&said.before, said.before.len());
    Some(phrase.map_or_else(|| last.said.to_owned(), titled))
}

/// In a clause that is a task, an event is what the task is for: "the slides for the review on Monday".
pub(super) fn beside_a_task(said: &Said<'_>) -> Option<String> {
    let (from, to) = nouns_in(&said.before).last().copied()?;
    let led = said.before.get(from.checked_sub(1)?)?;
    let for_it = (0..from)
        .rev()
        .take(4)
        .filter_map(|at| said.before.get(at))
        .find(|word| word.is_any("for before to at during after of"));
    let near = to + 2 >= said.before.len();
    (near && for_it.is_some() && !led.is_any("a an")).then(|| with_company(&said.before, (from, to)))
}

/// What a question takes for granted: "could you drive us to the tournament on Saturday?"
pub(super) fn request(said: &Said<'_>) -> Option<String> {
    let agrees = |words: &[Word<'_>]| match words {
        [one, two, ..] => {
            matches!((one.plain.as_str(), two.plain.as_str()), ("shall", "we") | ("how" | "what", "about"))
        }
        _ => false,
    };
    let proposes = said.all.windows(2).any(|two| {
        matches!(two, [lets, have] if lets.plain == "let's" && have.is_any("have do hold say schedule"))
    });
    // "Shall we say Thursday at two for a final call?"
    if agrees(&said.all) || proposes {
        return nouns_in(&said.all).last().map(|noun| with_company(&said.all, *noun));
    }
    let (from, to) = nouns_in(&said.before).last().copied()?;
    let determined = (from.saturating_sub(3)..from)
        .filter_map(|at| said.before.get(at))
        .any(|word| word.is_any("the my our"));
    let tied = (from.saturating_sub(4)..from)
        .filter_map(|at| said.before.get(at))
        .any(|word| word.is_any("to for at before"));
    (determined && tied).then(|| with_company(&said.before, (from, to)))
}

/// An event noun with what describes it before, and with whom or of what it is.
fn with_company(words: &[Word<'_>], (from, to): (usize, usize)) -> String {
    let describing = stripped(words.get(from..to).unwrap_or_default());
    // "A talk on roses".
    let on = words.get(to.saturating_sub(1)).is_some_and(|noun| {
        noun.is_any("talk lecture seminar workshop course class lesson webinar session training presentation")
    });
    let tail = words.get(to).filter(|word| word.is_any("with of") || on && word.is_any("on about")).map_or(
        to,
        |_| {
            let phrase = noun_phrase_from(words, to + 1);
            let skipped = words
                .get(to + 1..)
                .unwrap_or_default()
                .iter()
                .take_while(|word| word.is_any(&DETERMINERS))
                .count();
            if phrase.is_empty() { to } else { to + 1 + skipped + phrase.len() }
        },
    );
    match words.get(to..tail.min(words.len())).filter(|tail| !tail.is_empty()) {
        Some(tail) => format!(
            "{} {}",
            titled(describing),
            tail.iter().map(|word| word.said).collect::<Vec<_>>().join(" ")
        ),
        None => titled(describing),
    }
}

/// The places of event nouns, each with up to three words before that describe it: from where to where.
fn nouns_in(words: &[Word<'_>]) -> Vec<(usize, usize)> {
    (0..words.len())
        .filter(|at| is_event_noun(words, *at))
        .map(|at| {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let pair = before
                .zip(words.get(at))
                .is_some_and(|(one, other)| is_listed(&format!("{} {}", one.plain, other.plain)));
            let mut from = if pair { at - 1 } else { at };
            while from > 0 && at - from < 3 && describes(words, from - 1) {
                from -= 1;
            }
            (from, at + 1)
        })
        .collect()
}

fn is_listed(noun: &str) -> bool {
    NOUNS.contains(noun) || noun.strip_suffix('s').is_some_and(|noun| NOUNS.contains(noun))
}

/// Whether the word at `at` describes the noun after it; "design" and "review" do when a determiner stands before them.
fn describes(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    let determined = before.is_some_and(|before| before.is_any(&DETERMINERS) || before.plain.ends_with("'s"));
    let owner = word.plain.ends_with("'s") && !word.is_any(&PRONOUNS) || word.plain.ends_with("s'");
    let ordinal = word.is_any("second third final first last");
    owner
        || ordinal
        || !is_stop_word(&word.plain)
            && word.plain.chars().all(|c| c.is_alphanumeric() || c == '-')
            && (determined
                || word.is_name()
                || !is_task_verb(&word.plain)
                    && !word.plain.ends_with("ing")
                    && !crate::embedded::lexicon::ends_a_phrase(&word.plain))
}

/// Not "the meeting room", and of "call" and its like only the noun.
fn is_event_noun(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let next = words.get(at + 1);
    let part = next.is_some_and(|next| {
        next.is_any("room notes cake dress present gift ticket tickets card table fee bill hall ground report invitation invitations slides shoes agenda list")
    });
    let pair = at
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .is_some_and(|before| is_listed(&format!("{} {}", before.plain, word.plain)));
    let plain = word.plain.strip_suffix("'s").unwrap_or(&word.plain);
    // "The founders' evening".
    let theirs = word.is_any("evening night day lunch dinner breakfast")
        && at
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .is_some_and(|before| before.plain.ends_with("s'"));
    if theirs {
        return true;
    }
    if part || !(pair || is_listed(plain)) {
        return false;
    }
    // Ambiguous nouns count in the singular alone: "he calls" is a verb.
    let single = plain.strip_suffix('s').unwrap_or(plain);
    if pair || !AMBIGUOUS_EVENT_NOUNS.contains(&single) && !AMBIGUOUS_EVENT_NOUNS.contains(&plain) {
        return true;
    }
    let Some(last) = at.checked_sub(1).and_then(|before| words.get(before)) else {
        return next.is_some_and(|next| next.plain == "with");
    };
    last.is_any(&DETERMINERS)
        || last.plain.ends_with("'s") && !last.is_any(&PRONOUNS)
        || last.plain.len() > 2 && !last.is_any(&PRONOUNS) && describes(words, at - 1)
}
