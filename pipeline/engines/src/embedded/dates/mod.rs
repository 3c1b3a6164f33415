//! Dates and times inside sentences, resolved against the moment of the talk.
//!
//! Crates that parse dates take a whole string and find no spans; hence our own. Past references are
//! masked first, a date introduced as a deadline wins, and what cannot be dated stays undated.

mod calendar;
mod clock;
mod day;
mod days;
mod holidays;
mod past;
mod periods;
pub(super) mod ranges;
mod relative;

use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use chrono::{
    DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Timelike, Utc, Weekday,
};
use chrono_tz::Tz;
use records::{Talk, Timestamp};

pub(super) use calendar::{number, number_word};

use super::pattern::{Pattern, ascii};
use super::text::pattern;
use crate::start_of_day;

/// The moment in which a talk began, as its person's wall clock showed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    now: NaiveDateTime,
    zone: Tz,
    order: DayOrder,
}

/// How 5/6 and 5/6/2027 are read. What can be read in one way only is read so; `2027-06-05` and `5.6.2027`
/// are written in one way everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DayOrder {
    /// May 6th.
    #[default]
    MonthFirst,
    /// The 5th of June.
    DayFirst,
}

/// A date that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The bytes of the text that name it, in order.
    pub(super) spans: Vec<Range<usize>>,
    date: NaiveDate,
    time: Option<NaiveTime>,
    /// The time of day is said with "am", "in the evening" or 24 hours.
    exact: bool,
    /// A time of day alone.
    pub(super) bare: bool,
    /// When it ends, where that is said: "from ten to four".
    until: Option<NaiveTime>,
    /// Named with its month.
    pub(super) month_said: bool,
    /// A day of a month that was not named: "on the tenth".
    month_open: bool,
    /// It is this weekday after the date before it: "the Saturday after".
    follows: Option<Weekday>,
    /// Introduced by "by", "before", "until", "due".
    pub(super) deadline: bool,
    /// A day or a time, and not merely "next month".
    pub(super) precise: bool,
}

/// What a date without a time is due at (DECISIONS §5): the last minute of the day.
const END_OF_DAY: (u32, u32) = (23, 59);

/// Whether what begins at `start` is what something is about: "ring about Tuesday", and not "send it by about Friday".
fn is_topic(text: &str, start: usize) -> bool {
    let before = text.get(..start).and_then(|before| before.trim_end().strip_suffix(" about"));
    let word = before.map(|before| before.rsplit(' ').next().unwrap_or_default());
    word.is_some_and(|word| !["by", "until", "till", "before", "on", "for", "at"].contains(&word))
}

/// Only at the end: "in the morning and in the evening" says how often.
static MORNING: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bin\s+the\s+morning\W*$"));

/// A time belongs to a day that stands at most this many bytes away.
const NEAR: usize = 25;

impl Reference {
    /// The reference of `talk`: its start, in its person's time zone.
    pub(super) fn of(talk: &Talk, order: DayOrder) -> Self {
        Self {
            now: talk.started_at.with_timezone(&talk.time_zone).naive_local(),
            zone: talk.time_zone,
            order,
        }
    }

    /// The reference of a message: the moment in which it was written.
    pub(super) fn at(now: Timestamp, zone: Tz, order: DayOrder) -> Self {
        Self { now: now.with_timezone(&zone).naive_local(), zone, order }
    }

    /// Every date in `text` that is not past by its own words, in order of appearance.
    pub(super) fn find(&self, text: &str) -> Vec<Found> {
        // Every word of a date is English, and the spans of both are the same.
        let text = past::masked(&ascii(text).to_ascii_lowercase());
        let mut found = days::find(&text, self.now, self.order);
        let mut bare = Vec::new();
        for time in clock::find(&text) {
            match nearest(&mut found, &time.span) {
                Some(day) => day.take_time(&time),
                None if time.introduced => bare.push(self.bare(&time)),
                None => {}
            }
        }
        found.extend(bare);
        found.sort_by_key(|date| date.spans.first().map(|span| span.start));
        let mut found = join_repeated(found, &text);
        let (mut before, mut named): (Option<NaiveDate>, Option<NaiveDate>) = (None, None);
        for date in &mut found {
            if let (Some(before), Some(weekday)) = (before, date.follows) {
                date.date = calendar::following(before, weekday);
            }
            // "Everything by the fifteenth of November, then we meet on the seventeenth."
            *date = date.clone().in_month_of(named);
            named = Some(date.date).filter(|_| date.month_said).or(named);
            before = Some(date.date);
        }
        found
    }

    /// The moment of `found` in UTC; `None` when it is more than a day past.
    pub(super) fn moment(&self, found: &Found) -> Option<Timestamp> {
        let time = found.time.or_else(|| NaiveTime::from_hms_opt(END_OF_DAY.0, END_OF_DAY.1, 0))?;
        let local = found.date.and_time(time);
        if local < self.now - Duration::days(1) {
            return None;
        }
        self.to_utc(local)
    }

    /// The moment at which an event on `found` starts.
    pub(super) fn start(&self, found: &Found) -> Option<Timestamp> {
        if found.time.is_some() {
            return self.moment(found);
        }
        self.moment(found)?;
        self.to_utc(start_of_day(found.date, self.now)?)
    }

    /// The date that a task in `text` is due at: one introduced as a deadline, else the first.
    pub(super) fn due(&self, text: &str) -> Option<(Found, Timestamp)> {
        let mut dates = self.find(text);
        // "Ring the school about Tuesday" is for today.
        dates.retain(|date| {
            date.time.is_some() || !date.spans.first().is_some_and(|span| is_topic(text, span.start))
        });
        if dates.is_empty() {
            dates.extend(self.next_morning(text));
        }
        dates.sort_by_key(|date| !date.deadline);
        dates.into_iter().find_map(|found| self.moment(&found).map(|moment| (found, moment)))
    }

    /// "I'll do it in the morning" is the next one.
    fn next_morning(&self, text: &str) -> Option<Found> {
        let span = MORNING.find(text)?.range();
        let date = self.now.date() + Duration::days(i64::from(self.now.hour() >= 5));
        let time = NaiveTime::from_hms_opt(9, 0, 0);
        let found = Found {
            spans: vec![span],
            date,
            time,
            exact: true,
            bare: false,
            until: None,
            follows: None,
            month_said: false,
            month_open: false,
            deadline: false,
            precise: true,
        };
        Some(found)
    }

    /// A clock time without a day: today, or tomorrow when it has passed.
    fn bare(&self, time: &clock::Clock) -> Found {
        let passed = time.at <= self.now.time();
        let date = self.now.date() + Duration::days(i64::from(passed));
        Found {
            spans: vec![time.span.clone()],
            date,
            time: Some(time.at),
            exact: time.exact,
            bare: true,
            until: time.until,
            follows: None,
            month_said: false,
            month_open: false,
            deadline: time.deadline,
            precise: true,
        }
    }

    /// A local time that a change of clocks skips is taken an hour later; one that comes twice, the first time.
    fn to_utc(self, local: NaiveDateTime) -> Option<Timestamp> {
        let at = |local| self.zone.from_local_datetime(&local).earliest();
        at(local)
            .or_else(|| at(local + Duration::hours(1)))
            .map(|moment: DateTime<Tz>| moment.with_timezone(&Utc))
    }
}

/// A day after these is not one of "these days".
const NEAR_DAYS: i64 = 6;

impl Reference {
    /// Whether a moment is a day past or more.
    pub(super) fn is_over(&self, moment: Timestamp) -> bool {
        moment.with_timezone(&self.zone).naive_local() <= self.now - Duration::days(1)
    }

    /// Whether a day is more than some days ahead.
    pub(super) fn is_far(&self, date: &Found) -> bool {
        (date.date - self.now.date()).num_days() > NEAR_DAYS
    }
}

impl Found {
    fn take_time(&mut self, time: &clock::Clock) {
        let exact_already = self.time.is_some() && self.spans.len() > 1;
        if exact_already {
            return;
        }
        // "At half past seven tonight": the part of the day says which half past seven.
        let at = match self.time.filter(|_| !time.exact).map(|part| part.hour()) {
            Some(..=11) => time.in_part("morning"),
            Some(12..=16) => time.in_part("afternoon"),
            Some(17..) => time.in_part("evening"),
            None => time.at,
        };
        self.exact = time.exact || self.time.is_some();
        self.time = Some(at);
        self.until = time.until.filter(|until| *until > at);
        self.deadline |= time.deadline;
        self.precise = true;
        self.spans.push(time.span.clone());
        self.spans.sort_by_key(|span| span.start);
    }

    /// The day, in the person's time zone.
    pub(super) fn day(&self) -> NaiveDate {
        self.date
    }

    /// The time of day, where more is known than the day.
    pub(super) fn time(&self) -> Option<NaiveTime> {
        self.time
    }

    /// The same time in the evening, of what takes place in the evening: "the concert is at eight".
    pub(super) fn in_evening(self, hours: RangeInclusive<u32>) -> Self {
        let late = self.time.filter(|time| !self.exact && hours.contains(&time.hour()));
        let time = late.map(|time| time.overflowing_add_signed(Duration::hours(12)).0).or(self.time);
        Self { time, ..self }
    }

    /// Five and six o'clock, which mostly are in the afternoon, in the morning.
    pub(super) fn in_early_morning(self) -> Self {
        let early = self.time.filter(|time| !self.exact && matches!(time.hour(), 17 | 18));
        let time = early.map(|time| time.overflowing_sub_signed(Duration::hours(12)).0).or(self.time);
        Self { time, ..self }
    }

    /// The same time on another day, where no day was said.
    pub(super) fn on(self, day: Option<NaiveDate>) -> Self {
        let date = day.filter(|_| self.bare).unwrap_or(self.date);
        Self { date, ..self }
    }

    /// The same day of the month of `named`, where its own month was not said and that day is later.
    pub(super) fn in_month_of(self, named: Option<NaiveDate>) -> Self {
        let later = named
            .and_then(|named| named.with_day(self.date.day()))
            .filter(|day| self.month_open && *day > self.date && named.is_some_and(|named| *day > named));
        Self { date: later.unwrap_or(self.date), ..self }
    }

    /// The first such weekday after `named`, where that is later: "on the Saturday" of a week that was named.
    pub(super) fn in_week_of(self, named: Option<NaiveDate>) -> Self {
        let later = named
            .filter(|named| *named > self.date)
            .map(|named| calendar::following(named, self.date.weekday()));
        Self { date: later.unwrap_or(self.date), ..self }
    }

    /// How many minutes lie between its two times, where it has two.
    pub(super) fn minutes(&self) -> Option<i32> {
        let length = self.until? - self.time?;
        i32::try_from(length.num_minutes()).ok().filter(|minutes| *minutes > 0)
    }

    /// `text` without the words that name this date.
    pub(super) fn removed_from(&self, text: &str) -> String {
        let mut rest = String::with_capacity(text.len());
        let mut at = 0;
        for span in &self.spans {
            // "Monday's shift" is that shift.
            if text.get(span.end..).is_some_and(|after| after.starts_with("'s")) {
                continue;
            }
            rest.push_str(text.get(at..span.start).unwrap_or_default());
            rest.push(' ');
            at = span.end;
        }
        rest.push_str(text.get(at..).unwrap_or_default());
        rest
    }
}

/// "In three weeks, on the 21st at 9:30": a day that is said once more right after it is one date.
fn join_repeated(found: Vec<Found>, text: &str) -> Vec<Found> {
    let mut joined: Vec<Found> = Vec::new();
    for mut date in found {
        if let Some(before) = joined.pop_if(|before| repeats(&date, before, text)) {
            date.spans.splice(0..0, before.spans);
            date.deadline |= before.deadline;
        }
        joined.push(date);
    }
    joined
}

/// Whether `date` is the day that was said right before it, and no hour of that day.
fn repeats(date: &Found, before: &Found, text: &str) -> bool {
    let between = match (before.spans.last(), date.spans.first()) {
        (Some(one), Some(other)) => text.get(one.end..other.start),
        _ => None,
    };
    between.is_some_and(|between| between.trim_matches([',', ' ', '-', '–']).is_empty())
        && before.date == date.date
        && !before.bare
        && !date.bare
        && before.time.is_none()
}

fn nearest<'a>(days: &'a mut [Found], time: &Range<usize>) -> Option<&'a mut Found> {
    let gap = |day: &Found| {
        day.spans
            .iter()
            .map(|span| time.start.saturating_sub(span.end).max(span.start.saturating_sub(time.end)))
            .min()
    };
    days.iter_mut().filter(|day| gap(day).is_some_and(|gap| gap <= NEAR)).min_by_key(|day| gap(day))
}

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod tests;
