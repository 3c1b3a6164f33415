//! Verbs that name one task when their objects agree, and words that make two tasks of what else looks like one.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::word_list::{Listed, WordList};

/// Verbs, with their particles, that mean the same; a verb may be in several groups. Steps of one piece of work (draft,
/// finish), and the two directions of one (ask and tell, lend and borrow), are in different ones.
const GROUPS: &[&str] = &[
    "send, email, mail, forward, share, submit, pass on, provide, supply, send over, send off",
    "send, mail, post, ship, deliver, send off",
    "send, give, hand, deliver, pass, pass on, hand over, provide",
    "submit, hand in, turn in, file, send in, hand over, give in",
    "call, phone, ring, contact, telephone, reach, call up, ring up, get in touch, reach out",
    "book, reserve, schedule, arrange, order, fix up, line up",
    "schedule, arrange, organise, organize, set up, sort out, fix up, line up",
    "buy, get, purchase, order, acquire, shop for",
    "buy, get, grab, pick up, purchase",
    "collect, pick up, fetch, get, bring home",
    "get, obtain, request, ask for, seek, source",
    "find, look for, search for, seek",
    "fix, repair, mend, resolve, correct, debug, solve, sort out, patch",
    "write, draft, prepare, create, make, compose, compile, put together, write up, draw up, produce, put up",
    "finish, complete, finalise, finalize, finish off, finish up, wrap up",
    "complete, fill in, fill out, fill, do",
    "cook, bake, make, prepare, do",
    "check, verify, inspect, look at, look over, validate, examine, test, try out",
    "check, review, look at, look over, go over, go through, read, proofread, examine",
    "check, verify, confirm",
    "check, find out, look up, look into, verify",
    "investigate, look into, research, find out, explore, read up on",
    "update, revise, edit, change, adjust, refresh, amend, modify",
    "replace, change, swap, exchange, switch",
    "tell, inform, notify, let know, brief, update",
    "ask, check with, consult",
    "talk, speak, chat, discuss",
    "message, text, ping, write, write back",
    "remind, nudge, chase",
    "chase, chase up, follow up, nudge, remind",
    "hoover, vacuum",
    "put out, take out",
    "unsubscribe, cancel",
    "look after, mind, babysit",
    "reply, answer, respond, get back, write back",
    "pay, settle, transfer, pay off",
    "transfer, wire, send, pay",
    "clean, tidy, wash, clean up, clean out, tidy up, wipe, scrub, clear up, sort out",
    "renew, extend, prolong",
    "delete, remove, clear, take down, erase, get rid of",
    "discard, throw away, throw out, get rid of, dispose of, bin, dump, chuck",
    "install, set up, deploy, put in",
    "cancel, end, terminate, call off, quit",
    "return, take back, bring back, give back, send back, hand back, carry back",
    "register, sign up, enrol, enroll, register for, sign up for, enrol in",
    "drop off, take, bring, deliver",
    "leave, put, drop, drop off, place, deposit",
    "upload, put, post, add",
    "attend, go to, join, visit",
    "hire, recruit, employ, take on",
    "postpone, delay, push back, put off",
    "assemble, build, put together",
    "throw, host, organise, organize",
    "invite, ask over, have over",
    "hang up, hang out, hang",
    "print, print out, print off",
    "copy, duplicate, photocopy",
    "back up, save",
    "design, create, make",
    "sell, get rid of",
    "trim, cut, mow",
    "inspect, look at, view",
    "translate, put",
];

/// A particle after these verbs says only that it is done to the end.
const TO_THE_END: &str = "wrap up, tidy up, clean up, clean out, write up, write down, note down, finish up, finish off, heat up, warm up, \
    fix up, save up, charge up, use up, polish up, iron out, print out, print off, scan in, type up, send off, send out, send over, \
    sweep up, fill up, lock up, mop up, pack up, tape up, chop up, cut up, book in, check out, check over, read through, \
    empty out, sort out, try out, test out, clear out, order in, call up, ring up, phone up, hang up, hang out, eat up, \
    call back, ring back, phone back, text back, write back";

/// Words that are said in one task and not in the other when the two are two: sides, places, order.
static CONTRASTS: WordList = WordList::new(
    "left right front back rear top bottom upper lower inside outside indoor outdoor indoors outdoors upstairs downstairs up down \
    off out in away over under north south east west northern southern eastern western first second third fourth fifth sixth last final next \
    previous other another without except instead half double twice not never no don't return outbound inbound incoming outgoing",
);

/// Words of one kind: two tasks that name different ones are two, and one that names none agrees with any.
const KINDS: &[&str] = &[
    "morning afternoon evening night noon midnight lunchtime",
    "before after",
    "with without",
    "january february march april may june july august september october november december",
    "monday tuesday wednesday thursday friday saturday sunday weekday weekend",
    "spring summer autumn winter",
    "old new",
    "more less fewer",
    "in out",
    "on off",
];

/// Nouns that mean the same.
const NOUNS: &[&str] = &[
    "mum mom mummy mother mama",
    "dad father daddy papa",
    "grandma grandmother granny nan gran",
    "grandpa grandfather grandad granddad",
    "kids children",
    "kid child",
    "photo picture pic",
    "photos pictures pics",
    "flat apartment",
    "bike bicycle",
    "bikes bicycles",
    "tv telly television",
    "fridge refrigerator",
    "trash rubbish garbage",
    "shop store",
    "film movie",
    "cv resume",
    "present gift",
    "presents gifts",
    "sofa couch",
    "lift elevator",
    "slides deck",
    "papers documents docs",
    "boss manager",
    "colleague coworker",
    "luggage baggage",
    "pharmacy chemist drugstore chemist's",
    "tap faucet",
    "nappy diaper",
    "nappies diapers",
    "torch flashlight",
    "email e-mail mail",
    "booking reservation",
    "mobile cellphone",
    "doctor doc",
    "laundry washing",
    "vacation holiday",
    "timetable schedule",
];

static MEANINGS: LazyLock<HashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut index: HashMap<&'static str, Vec<usize>> = HashMap::new();
    for (group, verbs) in GROUPS.iter().enumerate() {
        for verb in verbs.split(", ") {
            index.entry(verb).or_default().push(group);
        }
    }
    index
});
static COMPLETIVE: LazyLock<Vec<&'static str>> = LazyLock::new(|| TO_THE_END.split(", ").collect());

static ONE_NOUN: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let groups = NOUNS.iter().map(|nouns| nouns.split_whitespace());
    groups
        .flat_map(|mut nouns| {
            let first = nouns.next().unwrap_or_default();
            nouns.map(move |noun| (noun, first))
        })
        .collect()
});

/// One noun for all that mean the same.
pub(in crate::embedded) fn one_noun(noun: &str) -> &str {
    ONE_NOUN.get(noun).copied().unwrap_or(noun)
}

/// The groups of synonyms that `verb` (lower case, with its particle) is in.
pub(in crate::embedded) fn meanings_of(verb: &str) -> &'static [usize] {
    MEANINGS.get(verb).map_or(&[], Vec::as_slice)
}

/// Whether the particle of `verb` ("wrap up") adds nothing to it.
pub(in crate::embedded) fn is_completive(verb: &str) -> bool {
    COMPLETIVE.contains(&verb)
}

/// Whether `word` (lower case), in one of two tasks alone, makes them two.
pub(in crate::embedded) fn is_contrast(word: &str) -> bool {
    CONTRASTS.has(word)
}

/// Which kinds `word` (lower case) is of.
pub(in crate::embedded) fn kinds_of(word: &str) -> impl Iterator<Item = usize> + '_ {
    KINDS
        .iter()
        .enumerate()
        .filter(move |(_, words)| words.split_whitespace().any(|known| known == word))
        .map(|(kind, _)| kind)
}
