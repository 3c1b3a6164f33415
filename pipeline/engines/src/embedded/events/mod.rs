//! Events: what takes place at a time ahead. A sentence is cut into clauses; a clause that names a day or an hour, and says
//! what happens then, is an event.

mod answers;
mod happenings;
mod known;
mod likely;
mod nouns;
mod offers;
mod others;
mod phrase;
mod pieces;

use std::cell::LazyCell;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use chrono::NaiveDate;
use stages::EventDraft;

use super::dates::{Found, Reference};
use super::learned::{Named, Weighed};
use super::lexicon::is_event_noun;
use super::pattern::Pattern;
use super::text::{Sentence, capitalised, content_stems, pattern};
use known::Known;
use phrase::Said;
pub(super) use phrase::{last_person, last_thing};
use pieces::pieces;

/// Minutes, when no length is said (DECISIONS §1).
const DURATION: i32 = 30;

/// What does not take place, or is only wondered about.
static UNREAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:cancel(?:led|ed)?|called off|not|never|no longer|nobody|none|isn't|aren't|won't|don't|doesn't|can't|cannot|couldn't|wouldn't|shouldn't|without|if only|instead of the|might|maybe|perhaps|would|used to|wish|imagine|pretend|suppose|(?:there's|there is|there are|there will be|is|are|have|has|'ve got|with) no)\b",
    )
});
/// Denied words that deny nothing.
static REAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:don't (?:forget|miss|worry|be late)|isn't it|aren't (?:we|you|they)|can't wait|not only|never forget|would (?:like|love) (?:you )?to|would (?:then )?be (?:on|at|from))\b|,?\s+(?:and\s+)?not\s+(?:(?:on|at|for|in|the|until)\s+)*(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|today|\p{L}+(?:th|st|nd|rd)|\d+(?:th|st|nd|rd)?)\b",
    )
});
/// What takes place after work, unless something else is said.
static EVENING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:dinner|supper|concert|gig|party|book club|show|film|movie|drinks|date|recital|opera|ballet|play|quiz night|movie night|game night|open mic|disco|ball|pub|parents'? evening|open evening|doors|fireworks|premiere|vernissage)\b",
    )
});
/// What takes place after work where seven or eight o'clock is said, and at other hours may be in the morning.
const AFTER_WORK: RangeInclusive<u32> = 6..=8;
static SOCIAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:choir|rehearsal|(?:band|orchestra)\s+practice|general\s+meeting|agm|committee|quiz|bowling|cinema|theat(?:re|er)|reading\s+group|performance|screening|bonfire|barbecue|bbq|carols?|poker|karaoke|salsa|dancing|reunion|get-together|at\s+(?:mine|ours|yours|my\s+place|your\s+place)|(?:come|comes|coming|having|have)\s+(?:\S+\s+){0,3}(?:over|round))\b",
    )
});
/// What leaves, or begins the day: at six it is in the morning.
static EARLY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:flights?|plane|trains?|ferry|fly|flies|flying|airport|take-?off|takes\s+off|depart(?:s|ing|ure)?|check-in|boarding|breakfast|sunrise|milking)\b",
    )
});
static ARRIVES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:arriv(?:e|es|ing|al)|lands?|landing|gets?\s+in|gets\s+back|back|return|pick|home|in\s+from)\b",
    )
});
static RECURS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:s\b|\s+(?:mornings|afternoons|evenings|nights)\b)"));
/// "On the Saturday".
static DEFINITE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\bthe\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day$"));
/// What was.
static PAST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:was|were|went|did|came|saw|took|met|arrived|happened|had (?:a|an|the|my|our))\b")
});
static CONDITION: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^\W*(?:(?:and|but|so|or)\s+)?(?:if|unless|in case|suppose|whether)\b"));
/// Asks instead of stating.
static QUESTION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|ok|okay|well|hey|hi|by the way|listen|about\s+[^,?]{2,30},)[,\s]+)*(?:is|are|am|was|do|does|did|can|could|would|will|shall|should|have|has|may|might|what|when|where|who|why|how|which|whose|any|want|wanna|you (?:going|coming|free)|y'all)\b",
    )
});
static LENGTH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:\b(?:for|lasts?|takes?|up to|allow)\s+(?:about\s+|around\s+|roughly\s+)?(?P<n>half\s+an|an?|one|two|three|four|five|six|seven|eight|ninety|sixty|forty-five|thirty|twenty|\d+)(?P<half>\s+and\s+a\s+half)?\s+(?P<unit>hours?|minutes?|mins?)(?P<later>\s+and\s+a\s+half)?\b|\b(?P<long>half|one|two|three|four|\d+)[\s-](?P<kind>hour|minute)[\s-](?:long\s+)?\p{L})",
    )
});
/// The events of a talk, in order, one per happening.
pub(super) fn extract(sentences: &[Sentence<'_>], reference: &Reference) -> Vec<EventDraft> {
    let mut events = Known::default();
    let mut earlier = Earlier::default();
    let mut offer = None;
    let mut supposed = false;
    let weighed = Weighed::of(sentences);
    for (at, sentence) in sentences.iter().enumerate() {
        let dates = reference.find(&sentence.text);
        let odds = LazyCell::new(|| weighed.odds(at, Named::Event));
        let found = of_sentence(sentence, &dates, &earlier, || *odds, reference);
        if std::mem::replace(&mut supposed, !found.is_empty() && sentence.text.ends_with('?')) {
            events.correct(&sentence.text, &dates, reference);
        }
        if let Some((day, timed, event)) =
            offers::accept(&mut offer, &sentence.text, &dates, !found.is_empty(), reference)
        {
            events.add(day, timed, event);
        } else if found.is_empty()
            && let Some(read) = offers::read(sentence, &dates, &earlier, reference)
        {
            match offers::settle(read, offer.is_some()) {
                Ok((day, timed, event)) => events.add(day, timed, event),
                Err(open) => offer = Some(open),
            }
        }
        let far = |date: &&Found| is_usable(date) && !date.bare && reference.is_far(date);
        let week = dates.iter().rfind(far).map(Found::day).or(earlier.week);
        let said = dates.iter().rfind(|date| is_usable(date) && !date.bare).map(Found::day);
        let day = found.last().map(|(day, _, _)| *day).or(said).map(|day| (day, 0));
        let month =
            dates.iter().rfind(|date| date.month_said).map(|date| (date.day(), 0)).or_else(|| {
                earlier.month.map(|(day, ago)| (day, ago + 1)).filter(|(_, ago)| *ago < RECALLED)
            });
        let asks = !found.is_empty() && offers::proposes(&sentence.text);
        for (day, timed, event) in found {
            events.add(day, timed, event);
        }
        events.heard(asks, &sentence.text);
        let before = earlier.day.map(|(day, ago)| (day, ago + 1)).filter(|(_, ago)| *ago < WITHIN_REACH);
        // "The meeting went well" is over.
        let ahead = Some(&sentence.text).filter(|text| !WENT.is_match(text));
        let happening =
            ahead.and_then(|text| nouns::happening_in(text)).map(|noun| (noun, 0)).or_else(|| {
                earlier.happening.take().map(|(noun, ago)| (noun, ago + 1)).filter(|(_, ago)| *ago < RECALLED)
            });
        earlier = Earlier { text: &sentence.text, day: day.or(before), month, week, happening };
    }
    // "The residents' meeting of 8 November", said on the ninth, is over.
    events.all.retain(|event| !reference.is_over(event.start));
    events.all
}

/// Words that name nothing that takes place: "Friday works", "online", "the fourteenth".
static NAMELESS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:the\s+)?(?:works?|suits?|starting|online|offline|finishing|fine|great|perfect|okay|ok|possible|free|available|ready|both|either|later|earlier|half|back|in person|by (?:phone|video)|doors|\p{L}*(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|teenth|tieth))$",
    )
});

/// "Customer day is": what was said of it was its date.
static COPULA: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\s+(?:is|are|will be)$"));
/// "By thirty euros", "one for 89 euros", "A, in the second period": a piece of what was said.
static NO_NAME: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:by|than|about|from|one\s+(?:for|at|in|with|on)|\p{L},)(?:\s|$)|^(?:half|quarter|ten|twenty)\s+(?:past|to)\b",
    )
});

/// What something does that was named before, perhaps.
static BEGINS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:starts?|begins?|opens?|ends?|finishes)$"));

/// For how many sentences an hour without a day is on the day of the event before it.
const WITHIN_REACH: usize = 2;

static WENT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:went|was|were|happened|took place|had been)\b"));

/// For how many sentences "it" may mean what was said to take place.
const RECALLED: usize = 4;

/// What was said before a sentence.
#[derive(Default)]
struct Earlier<'t> {
    text: &'t str,
    /// The day of the last event, and how many sentences ago.
    day: Option<(NaiveDate, usize)>,
    /// The last day that was said with its month, and how many sentences ago.
    month: Option<(NaiveDate, usize)>,
    /// The last day that was said and is not of these days: in its week is "the Saturday".
    week: Option<NaiveDate>,
    /// What takes place that was named last, and how many sentences ago.
    happening: Option<(String, usize)>,
}

fn of_sentence(
    sentence: &Sentence<'_>,
    dates: &[Found],
    earlier: &Earlier<'_>,
    odds: impl Fn() -> f32,
    reference: &Reference,
) -> Vec<(NaiveDate, bool, EventDraft)> {
    let text = sentence.text.as_str();
    if !dates.iter().any(is_usable) {
        return Vec::new();
    }
    let mut events = Vec::new();
    let mut conditional = false;
    for piece in pieces(text, dates) {
        let words = text.get(piece.clone()).unwrap_or_default();
        let depends = std::mem::replace(&mut conditional, CONDITION.is_match(words));
        if depends || conditional || UNREAL.is_match(&REAL.replace_all(words, "")) {
            continue;
        }
        let inside = |date: &&Found| date.spans.first().is_some_and(|span| piece.contains(&span.start));
        // "On Tuesday evenings" is every week.
        let recurs = |date: &&Found| {
            date.spans.last().and_then(|span| text.get(span.end..)).is_some_and(|rest| RECURS.is_match(rest))
        };
        let Some(date) = dates.iter().filter(inside).find(|date| is_usable(date) && !recurs(date)) else {
            continue;
        };
        let said = Said::new(text, &piece, date, dates);
        if is_past(words, &said) {
            continue;
        }
        let asks = text.ends_with('?') && piece.end == text.len() && QUESTION.is_match(words);
        let before = format!("{} {}", earlier.text, text.get(..piece.start).unwrap_or_default());
        let recalled = || {
            let here = text.get(..piece.start).and_then(nouns::happening_in);
            here.or_else(|| earlier.happening.as_ref().map(|(noun, _)| noun.clone()))
        };
        let Some(title) = answers::answer(earlier.text, &said, recalled)
            .or_else(|| title(&said, asks, &before, recalled))
            .filter(|_| odds() > likely::UNLIKELY)
            .or_else(|| {
                let likely = !asks && odds() > likely::LIKELY && !offers::is_offer(words);
                likely.then(|| likely::title(words, reference)).flatten()
            })
            .filter(|title| !NO_NAME.is_match(title))
        else {
            continue;
        };
        let here = dates.iter().rev().find(|other| {
            is_usable(other)
                && !other.bare
                && other.spans.first().map(|span| span.start) < date.spans.first().map(|span| span.start)
        });
        let day = here
            .map(Found::day)
            .or(events.last().map(|(day, _, _)| *day))
            .or(earlier.day.map(|(day, _)| day));
        let date = date.clone().on(day).in_month_of(earlier.month.map(|(day, _)| day));
        let led = date.spans.first().and_then(|span| text.get(..span.end));
        let definite = led.is_some_and(|led| DEFINITE.is_match(led));
        let date = if definite { date.in_week_of(earlier.week) } else { date };
        let date = match () {
            () if EVENING.is_match(&title) => date.in_evening(5..=11),
            () if SOCIAL.is_match(words) || SOCIAL.is_match(&title) => date.in_evening(AFTER_WORK),
            () if EARLY.is_match(words) && !ARRIVES.is_match(words) => date.in_early_morning(),
            () => date,
        };
        let Some(start) = reference.start(&date) else { continue };
        let duration = date.minutes().unwrap_or_else(|| duration(text));
        events.push((
            date.day(),
            said.timed,
            EventDraft { title, description: text.to_owned(), start, duration },
        ));
    }
    events
}

/// Rules from the surest to the least sure.
fn title(said: &Said<'_>, asks: bool, before: &str, recalled: impl Fn() -> Option<String>) -> Option<String> {
    if asks {
        return nouns::request(said).or_else(|| {
            nouns::invites(said).then(|| recalled().unwrap_or_else(|| "Appointment".to_owned()))
        });
    }
    answers::expected(said, before)
        .or_else(|| answers::arranged(said, &recalled))
        .or_else(|| nouns::predicate(said))
        .or_else(|| recalled().filter(|_| nouns::is_of_it(said)))
        .or_else(|| others::of_others(said, before))
        .or_else(|| happenings::meeting(said, before))
        .or_else(|| {
            if happenings::is_task(said) {
                return nouns::beside_a_task(said);
            }
            answers::done(said)
                .or_else(|| answers::has_done(said))
                .or_else(|| nouns::existence(said))
                .or_else(|| happenings::act(said, before))
                .or_else(|| nouns::named(said))
                .or_else(|| happenings::location(said))
                .or_else(|| answers::visit(said))
        })
        // "Friday at eight works": the practice that was named before.
        .map(|title| match title.strip_prefix("Going to be ") {
            Some(state) => capitalised(state),
            None => title,
        })
        .and_then(|title| match () {
            () if NAMELESS.is_match(&title) => recalled(),
            () if BEGINS.is_match(&title) => recalled().or(Some(title)),
            () => Some(title),
        })
        .map(|title| COPULA.replace(&title, "").into_owned())
        .filter(|title| {
            let word = title.to_lowercase();
            !content_stems(title).is_empty()
                || matches!(word.as_str(), "meeting" | "away" | "visit")
                || is_event_noun(&word)
        })
}

fn is_usable(date: &Found) -> bool {
    date.precise && !date.deadline
}

/// A past tense before the date, and no "has been moved to".
fn is_past(words: &str, said: &Said<'_>) -> bool {
    let told = if said.before.is_empty() { &said.after } else { &said.before };
    let told: Vec<&str> = told.iter().map(|word| word.said).collect();
    PAST.is_match(&told.join(" ")) && !words.contains("has been") && !words.contains("have been")
}

fn duration(text: &str) -> i32 {
    let Some(found) = LENGTH.captures(text) else { return DURATION };
    let group = |name: &str| found.name(name).map_or("", |part| part.as_str()).to_lowercase();
    let (number, unit) =
        if found.name("n").is_some() { (group("n"), group("unit")) } else { (group("long"), group("kind")) };
    let hours = unit.starts_with("hour");
    let half = found.name("half").or_else(|| found.name("later")).is_some();
    if number.starts_with("half") {
        return DURATION;
    }
    let count = super::dates::number(&number).and_then(|count| i32::try_from(count).ok()).unwrap_or(0);
    let minutes = if hours { 60 * count + if half { 30 } else { 0 } } else { count };
    if (1..=1440).contains(&minutes) { minutes } else { DURATION }
}

#[cfg(test)]
mod tests {
    use super::super::dates::DayOrder;
    use super::super::planted::heard;
    use super::super::tests::talk;
    use super::*;

    /// On Friday 2026-11-20, 10:00.
    fn found(text: &str) -> Vec<String> {
        let talk = talk(text);
        let events = extract(&heard(&talk, true), &Reference::of(&talk, DayOrder::default()));
        events
            .iter()
            .map(|event| format!("{} {} {}", event.title, event.start.format("%m-%d %H:%M"), event.duration))
            .collect()
    }

    #[test]
    fn what_is_said_to_be_on_a_day_is_an_event() {
        for (text, event) in [
            ("The recital is on Sunday at five.", "Recital 11-22 17:00 30"),
            ("Our away match has been moved to Saturday, kick-off 10:30.", "Away match 11-21 10:30 30"),
            (
                "The training of the new guides takes place on Monday.",
                "Training of the new guides 11-23 09:00 30",
            ),
            ("There's a seed swap on Sunday the 29th in the hall.", "Seed swap 11-29 09:00 30"),
            (
                "We've got a call with the bank on Tuesday at 3pm for an hour.",
                "Call with the bank 11-24 15:00 60",
            ),
            ("The workshop is on Wednesday from ten to four.", "Workshop 11-25 10:00 360"),
        ] {
            assert_eq!(found(text), [event], "{text}");
        }
    }

    #[test]
    fn arrivals_departures_and_visits_are_events() {
        for (text, event) in [
            ("Grandpa arrives on Sunday at half past five.", "Grandpa arrives 11-22 17:30 30"),
            ("The heating engineer will come on Monday.", "Heating engineer comes 11-23 09:00 30"),
            ("On Tuesday I'm flying to Amsterdam.", "Flying to Amsterdam 11-24 09:00 30"),
            ("I phoned the plumber. He's coming on Monday at eight.", "Plumber coming 11-23 08:00 30"),
            ("You're seeing the nurse this Wednesday.", "Appointment with the nurse 11-25 09:00 30"),
        ] {
            assert_eq!(found(text), [event], "{text}");
        }
    }

    #[test]
    fn what_a_question_proposes_is_on_the_day_that_is_agreed_on() {
        let moved = found(
            "Ada: Then next lesson Wednesday at four?\nBen: I've got volleyball. Could we do Thursday?\nAda: Thursday at nine, then.",
        );
        assert_eq!(moved, ["Lesson 11-26 09:00 30"]);
        let agreed = found(
            "Ada: Then next lesson Wednesday at four?\nBen: Perfect.\nAda: The second lesson is on Friday the 27th at nine.",
        );
        assert_eq!(agreed.len(), 2, "{agreed:?}");
    }

    #[test]
    fn what_speakers_do_themselves_is_an_event_where_that_is_likely() {
        let found = found(
            "We will deliver the forty desks on the fourteenth of December, between eight and ten in the morning.",
        );
        assert_eq!(found, ["Deliver the forty desks 12-14 08:00 120"]);
    }

    #[test]
    fn two_happenings_in_one_sentence_are_two_and_one_said_twice_is_one() {
        let two = found("Ella's birthday is on the 24th and the party is the Saturday after.");
        assert_eq!(two, ["Ella's birthday 11-24 09:00 30", "Party 11-28 09:00 30"]);
        assert_eq!(found("The exam is on Monday. Remember, the chemistry exam is on Monday at 9.").len(), 1);
    }

    #[test]
    fn tasks_doubts_denials_and_the_past_are_no_events() {
        for none in [
            "I'll book the flights on Sunday.",
            "Please send the review on Monday.",
            "There is no lecture on Tuesday.",
            "We might have a party on Saturday.",
            "If the meeting is on Monday, tell me.",
            "The concert was on Monday.",
            "Is the meeting on Monday?",
            "The report is due by Friday.",
        ] {
            assert_eq!(found(none), [] as [&str; 0], "{none}");
        }
    }
}
