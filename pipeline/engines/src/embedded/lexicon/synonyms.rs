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
    "submit, hand in, turn in, file, send in, hand over, give in, lodge, return, put in",
    "call, phone, ring, contact, telephone, reach, call up, ring up, get in touch, reach out",
    "book, reserve, schedule, arrange, order, fix up, line up",
    "schedule, arrange, organise, organize, set up, sort out, fix up, line up",
    "buy, get, purchase, order, acquire, shop for",
    "buy, get, grab, pick up, purchase",
    "collect, pick up, fetch, get, grab, bring home, retrieve",
    "get, obtain, request, ask for, seek, source",
    "find, look for, search for, seek, look into, research, hunt for, track down",
    "fix, repair, mend, resolve, correct, debug, solve, sort out, patch, deal with",
    "sort out, deal with, see to, handle, look after",
    "write, draft, prepare, create, make, compose, compile, put together, write up, draw up, produce, put up",
    "finish, complete, finalise, finalize, finish off, finish up, wrap up, conclude, get done",
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
    "ask, find out, check",
    "talk, speak, chat, discuss",
    "message, text, ping, write, write back, dm, whatsapp",
    "remind, nudge, chase",
    "chase, chase up, follow up, nudge, remind",
    "hoover, vacuum",
    "put out, take out",
    "walk, take out",
    "unsubscribe, cancel",
    "look after, mind, babysit",
    "reply, answer, respond, get back, write back",
    "pay, settle, transfer, pay off, clear",
    "transfer, wire, send, pay",
    "clean, tidy, wash, clean up, clean out, tidy up, wipe, scrub, clear up, sort out",
    "tidy, tidy up, clear out, clear up, clean out, declutter, sort out",
    "wash, launder, do",
    "renew, extend, prolong",
    "delete, remove, clear, take down, erase, get rid of",
    "discard, throw away, throw out, get rid of, dispose of, bin, dump, chuck, chuck out, chuck away, toss, toss out, scrap, ditch",
    "install, set up, deploy, put in",
    "install, fit, put in, mount, put up",
    "hang, put up, mount, hang up",
    "cancel, end, terminate, call off, quit",
    "quit, give up, stop",
    "return, take back, bring back, give back, send back, hand back, carry back",
    "register, sign up, enrol, enroll, register for, sign up for, enrol in",
    "drop off, take, bring, deliver",
    "take, drive, bring, run, accompany",
    "leave, put, drop, drop off, place, deposit",
    "upload, put, post, add",
    "attend, go to, join, visit",
    "see, visit, go to, consult, drop in on, call on",
    "meet, meet up, catch up, get together",
    "hire, recruit, employ, take on",
    "postpone, delay, push back, put off, reschedule, move back, defer",
    "move, reschedule, rebook, rearrange, shift",
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
    "decline, turn down, reject, refuse",
    "accept, take up, agree to",
    "turn on, switch on, put on",
    "turn off, switch off, shut off",
    "close, shut, close down, shut down",
    "start, begin, kick off",
    "practise, practice, rehearse, run through, go through",
    "study, revise, learn, read up on",
    "lay, set",
    "heat, warm, heat up, warm up, reheat",
    "apologise, apologize",
    "note, write down, jot down, note down, record",
    "top up, refill, fill up, recharge",
    "charge, recharge",
    "withdraw, take out",
    "deposit, pay in, bank",
    "pay back, repay, reimburse, refund, give back",
    "claim, claim back, reclaim",
    "report, flag, raise",
    "approve, sign off, okay",
    "release, launch, publish, roll out, ship",
    "analyse, analyze, evaluate, assess, examine",
    "present, show, demo, demonstrate",
    "teach, train, coach",
    "choose, pick, select, decide on, pick out",
    "hand out, distribute, give out, pass round, circulate",
    "rent, hire, lease",
    "pump up, inflate, blow up",
    "put away, tidy away, stow",
    "donate, give away",
    "thank, say thanks to",
    "defrost, thaw",
    "unblock, unclog, clear",
    "service, maintain",
    "translate, put",
    "empty, unload",
    "refuel, fill up, top up, gas up",
    "sew, sew on, stitch, stitch on, sew back on",
    "prune, cut back, trim, trim back",
    "trim, clip, cut",
    "split, divide, divvy up, work out",
    "muck out, clean out, clean",
    "negotiate, renegotiate, haggle, bargain",
    "lend, loan, let borrow",
    "nominate, put forward, propose, suggest",
    "wrap, gift-wrap, wrap up",
    "catch up, check in, touch base, meet",
    "feed, give food",
    "tune, get tuned",
    "worm, deworm",
    "bring, take along, bring along, take",
    "chase, remind, follow up with, chase up",
    "sweep, brush",
    "iron, press",
    "dust, wipe down, wipe",
    "rake, rake up, sweep up, clear",
    "shovel, clear, dig out",
    "dig, dig over, turn over",
    "plant, plant out, put in, pot",
    "weed, clear",
    "sow, plant",
    "water, give water",
    "polish, shine",
    "descale, clean",
    "lock, lock up, secure",
    "pack, pack up",
    "unpack, empty",
    "load, fill",
    "ready, prepare, get ready, set up",
    "sharpen, grind",
    "oil, grease, lubricate",
    "cancel, scrap, stop",
    "ask for, request",
    "vote, cast a vote",
    "tip, give a tip",
    "escort, accompany, take",
    "babysit, look after, watch, mind, sit for",
    "dogsit, look after, watch, mind",
    "proofread, read through, check over",
    "summarise, summarize, sum up",
    "memorise, memorize, learn",
    "rehearse, practise, practice, go over",
    "decorate, do up",
    "redo, do again, repeat",
    "weigh, weigh in",
    "measure, measure up, size up",
    "file, put in, submit",
    "archive, file, file away",
    "label, mark, tag",
    "sort, sort out, organise, organize, go through",
    "swap, exchange, trade",
    "bathe, bath, wash",
    "groom, brush",
    "vaccinate, jab",
    "top up, refill",
    "mop, wash, clean",
    "scrub, clean, scour",
    "tighten, fix, screw tight",
    "unpick, undo",
    "log, record, note, enter",
    "enter, type in, key in, input",
    "scan, scan in, digitise, digitize",
    "brief, tell, inform",
    "greet, welcome, meet",
    "escalate, raise, flag",
    "audit, check, review",
    "reconcile, check, balance",
    "draft, write, draw up",
    "sign, countersign",
    "watch, keep an eye on",
    "buy, get, get in, order in, pick up",
    "order, get in, order in",
    "submit, hand in, drop off, drop in, give in",
    "reply, answer, respond, rsvp",
    "write to, email, e-mail, mail, message, text",
    "write to, write",
    "pay, pay back, reimburse",
    "finish, complete, do, get through",
    "put on, fit, mount, swap on, change to, swap to",
    "visit, see, drop by, pop by, stop by",
    "ask, enquire about",
    "enquire about, find out",
    "enquire about, look into",
    "enquire about, ask for",
    "apply for, request, ask for",
    "book, make, reserve",
    "plan, organise, organize, arrange",
    "sort a, find, look for",
    "sort a, get",
    "sort a, arrange, organise, organize, book",
    "sand, sand down, rub down",
    "take down, remove, pull down, take off",
    "remove, get out, get off, take off, clean off",
    "pitch, put up, set up",
    "unplug, disconnect",
    "plug in, connect, hook up",
    "connect, set up, hook up, link up",
    "turn down, lower, reduce",
    "turn up, raise",
    "add, put down, enter",
    "register, sign up, put down, enter, enrol, enroll, book in",
    "shred, destroy",
    "count, tally, count up, add up, total, total up",
    "publish, post, put up, upload",
    "stick up, pin up, hang up, hang, put up, tape up",
    "draw, sketch",
    "type up, write up, type, type out",
    "look at, look over, look through, go over, read through, check over, read",
    "skim, look through, flick through",
    "sort, sort through, go through",
    "call in, get in, call out",
    "hand over, drop off, deliver, drop round",
    "pass on, forward, relay, hand on",
    "relay, tell, pass on",
    "ring back, call back, phone back",
    "switch, change",
    "bring forward, move up, move forward",
    "set up, install, configure",
    "decorate, paper, wallpaper",
    "look up, check, google",
    "calculate, work out, figure out, add up",
    "sort, fix, sort out, deal with",
    "wind up, close, close down",
    "compare, weigh up",
    "compliment, praise",
    "chop, cut, cut up, dice, slice",
    "cut down, chop down, fell",
    "take out, put out, bring out",
    "bring in, take in, get in",
    "let out, rent out",
    "sublet, let, rent out",
    "ventilate, air, air out",
    "fold, fold up",
    "fill, fill up, top up",
    "soak, steep",
    "give away, hand out, distribute",
    "stop, cancel, end, suspend",
    "pause, suspend",
    "mute, silence",
    "reset, change",
    "note, write, enter",
    "help, assist, support",
    "dismantle, take apart, disassemble",
    "take up, shorten, hem",
    "let down, lengthen",
    "put off, postpone, hold off",
    "sort out, resolve, clear up, settle",
    "settle, agree, decide",
    "agree, decide, decide on",
    "reserve, save, hold, keep",
    "guard, watch, mind",
    "pull up, dig up, dig out",
    "repot, pot, replant",
    "blow out, put out, extinguish",
    "chair, lead, run",
    "run, hold, host, lead",
    "hold, have, run",
    "interview, meet",
    "stream, broadcast",
    "subscribe to, sign up for, order",
    "download, get",
    "bring up, raise, mention",
    "mention, tell",
    "warn, tell, alert, inform",
    "wake, wake up",
    "pick up, fetch, collect",
    "put in, plant, sow",
    "put in, fit, install",
    "glue, stick, stick on, glue on",
    "sew, reattach, mend, stitch",
    "stick, glue, tape",
    "wash, do, clean",
    "wipe, wipe down, wipe off, wipe up",
    "invite, have over",
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
    "my your",
    "mine yours",
    "boys girls boys' girls'",
    "mr mrs ms",
    "am pm",
    "big small large little",
    "red blue green yellow white black brown grey",
    "hot cold",
    "paternity maternity sick annual",
];

/// Nouns that mean the same, a line for each group.
static NOUNS: &str = include_str!("same_nouns.txt");

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
    let groups = NOUNS.lines().map(str::split_whitespace);
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
