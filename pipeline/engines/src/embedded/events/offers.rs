//! Appointments that are made in two turns: one offers a time, the other agrees.

use std::sync::LazyLock;

use chrono::NaiveDate;
use stages::EventDraft;

use super::happenings::joined;
use super::phrase::{Said, last_person};
use super::{DURATION, Earlier, QUESTION, is_usable};
use crate::embedded::dates::{Found, Reference};
use crate::embedded::lexicon::trades;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{Sentence, capitalised, pattern};

/// A time that was offered, and how many sentences ago.
pub(super) struct Offer {
    day: NaiveDate,
    timed: bool,
    event: EventDraft,
    ago: usize,
    /// A day and an hour, and nothing else: "Friday at seven."
    stated: bool,
}

/// For how many sentences an offer may be taken up.
const STANDS: usize = 2;

/// "Would Monday at ten work?", "I could do Tuesday", "the first slot I have is Friday", "how about nine?".
static OFFERS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:how\s+about|what\s+about|are\s+we\s+(?:still\s+)?on\s+for\s+(?P<what>[\p{L}-]+)|(?:can|could|shall|should)\s+(?:we|you)\s+(?:(?P<talk>talk|speak|chat|catch\s+up)|(?P<meet>meet)|come|pop|schedule|arrange|set\s+up|have|do|say|book)|shall\s+we\s+say|(?:i|we|he|she|they|you)\s+(?:can|could)\s+(?:do|offer|manage|fit|squeeze|make)|(?:can|could)\s+(?:you|we|i)\s+(?:do|make|manage)|i(?:'ve|\s+have)\s+(?:got\s+)?(?:a\s+(?:slot|space|gap)|an\s+opening)|(?:slot|opening|appointment)\s+(?:i|we)\s+have|would\s+(?:\S+\s+){1,6}?(?:work|suit|be\s+(?:ok|okay|good|fine|better|all\s+right))|would\s+(?:work|suit)|(?:does|is)\s+(?:\S+\s+){1,6}?(?:work|suit|good|okay|ok|fine|any\s+good|possible|convenient)|are\s+you\s+(?:free|around|available)|(?:i'm|we're|he's|she's)\s+(?:free|available))\b",
    )
});
static DELIVERS: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bdeliver(?:s|ed|y)?\b"));
/// Little else than a time.
static TIME_ALONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:so|then|or|and|ok|okay|right|well|say|maybe|perhaps|let's\s+say|yes|no|at|on|the|about|around|just|um|uh|er|hm)\b\W*)*$",
    )
});
/// "That's fine", "Tuesday's good", "perfect", "yes, we can do that".
static AGREES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:oh|ok|okay|um|uh|ah|yes|yeah|yep|well|right)\W+)*(?:yes|yeah|yep|sure|perfect|great|lovely|brilliant|super|deal|done|fine|good|okay|ok|excellent|wonderful|agreed|(?:that|it|\p{L}+day(?:\s+at\s+[\p{L}\d]+)?|(?:half\s+(?:past\s+)?)?\p{L}+)(?:'s|\s+is|\s+would|\s+would\s+be|'d\s+be)?\s+(?:fine|good|great|perfect|ideal|works|work|suits|suit|okay|ok|better|brilliant|lovely|all\s+right)|(?:i|we)\s+can\s+(?:do|make)|(?:i|we)(?:'ll|\s+will)\s+(?:be\s+there|take\s+(?:it|that)|do\s+that)|sounds\s+(?:good|great|fine)|see\s+you\s+then|let's\s+do\s+that)\b",
    )
});
/// "Yes, but I can't": no agreement.
static DECLINES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:but|can't|cannot|won't|doesn't|don't|not|no|rather|instead|or|unless|\?)\b|\?\s*$")
});

/// The date of a sentence that says little else.
pub(super) fn time_alone(text: &str, dates: &[Found]) -> Option<Found> {
    let date = dates.iter().find(|date| is_usable(date))?;
    let rest = joined(&Said::new(text, &(0..text.len()), date, dates).all);
    TIME_ALONE.is_match(&rest).then(|| date.clone())
}

/// Whether a sentence offers a time.
pub(super) fn is_offer(sentence: &str) -> bool {
    OFFERS.is_match(sentence)
}

/// Whether a sentence agrees, and takes nothing back.
pub(super) fn agrees(sentence: &str) -> bool {
    AGREES.is_match(sentence) && !DECLINES.is_match(sentence)
}

/// What `sentence` agrees to, of what was offered before it. `dated` says that it names an event of its own.
pub(super) fn accept(
    offer: &mut Option<Offer>,
    sentence: &str,
    dates: &[Found],
    dated: bool,
    reference: &Reference,
) -> Option<(NaiveDate, bool, EventDraft)> {
    let Offer { day, timed, event, ago, stated } = offer.take()?;
    if !dated && agrees(sentence) {
        // "Okay, Friday at three": a day of its own is the one that is agreed on.
        let own = dates.iter().find(|date| is_usable(date) && !date.bare);
        let own = own.and_then(|date| Some((date.day(), date.time().is_some(), reference.start(date)?)));
        return Some(match own {
            Some((day, timed, start)) => (day, timed, EventDraft { start, ..event }),
            None => (day, timed, event),
        });
    }
    *offer = (ago + 1 < STANDS && !dated).then_some(Offer { day, timed, event, ago: ago + 1, stated });
    None
}

/// What was offered as an event, where it answers an offer with a day and an hour: "Can we do Friday? - Friday at seven."
pub(super) fn settle(offer: Offer, answers: bool) -> Result<(NaiveDate, bool, EventDraft), Offer> {
    if answers && offer.stated { Ok((offer.day, offer.timed, offer.event)) } else { Err(offer) }
}

/// More words than these say more than what is to take place and when.
const LONGEST_QUESTION: usize = 7;

/// Whether a sentence asks if what it says may be.
pub(super) fn proposes(text: &str) -> bool {
    text.ends_with('?') && (QUESTION.is_match(text) || text.split(' ').count() <= LONGEST_QUESTION)
}

/// What takes place, and nothing else but prepositions.
fn noun_alone(rest: &str) -> bool {
    let mut words =
        rest.split(' ').filter(|word| !matches!(*word, "on" | "at" | "for" | "so" | "and" | "then"));
    words.next().is_some() && words.count() < 2 && super::nouns::happening_in(rest).is_some()
}

/// The time that a sentence offers, for what the talk named before.
pub(super) fn read(
    sentence: &Sentence<'_>,
    dates: &[Found],
    earlier: &Earlier<'_>,
    reference: &Reference,
) -> Option<Offer> {
    let text = sentence.text.as_str();
    let date = dates.iter().find(|date| is_usable(date))?;
    let timed = date.time().is_some();
    let rest = joined(&Said::new(text, &(0..text.len()), date, dates).all);
    // "Review on Thursday at three?" asks no more than whether it may be then.
    let named = text.ends_with('?') && text.split(' ').count() <= LONGEST_QUESTION && noun_alone(&rest);
    let alone = (text.ends_with('?') || timed && !date.bare) && (named || TIME_ALONE.is_match(&rest));
    let offers = OFFERS.captures(text);
    if !alone && offers.is_none() {
        return None;
    }
    let part = |name: &str| {
        offers.as_ref().and_then(|offers| offers.name(name)).map(|part| capitalised(part.as_str()))
    };
    let here = super::nouns::happening_in(text)
        .or_else(|| part("what"))
        .or_else(|| part("talk").map(|_| "Talk".to_owned()))
        .or_else(|| part("meet").map(|_| "Meeting".to_owned()));
    let comes = || {
        // "We deliver. - Friday between nine and twelve? - Lovely."
        if DELIVERS.is_match(earlier.text) {
            return Some("Delivery".to_owned());
        }
        let who = last_person(earlier.text)?;
        let last = who.rsplit(' ').next()?.to_lowercase();
        trades().any(|trade| trade == last).then(|| capitalised(&who))
    };
    let named = here.or_else(|| earlier.happening.as_ref().map(|(noun, _)| noun.clone())).or_else(comes);
    let title = match named {
        Some(title) => title,
        None if timed => "Appointment".to_owned(),
        None => return None,
    };
    let date =
        date.clone().on(earlier.day.map(|(day, _)| day)).in_month_of(earlier.month.map(|(day, _)| day));
    let start = reference.start(&date)?;
    let duration = date.minutes().unwrap_or(DURATION);
    let event = EventDraft { title, description: text.to_owned(), start, duration };
    let stated = alone && !text.ends_with('?');
    Some(Offer { day: date.day(), timed, event, ago: 0, stated })
}
