//! The events so far, one per happening.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use stages::EventDraft;

use super::offers;
use crate::embedded::dates::{Found, Reference};
use crate::embedded::text::content_stems;

/// More than these are a calendar being read out.
const MOST: usize = 10;

/// The events so far, and what each is known by.
#[derive(Default)]
pub(super) struct Known {
    pub(super) all: Vec<EventDraft>,
    days: Vec<(NaiveDate, BTreeSet<String>)>,
    /// Whether the hour of each was said.
    timed: Vec<bool>,
    /// An event that was proposed in a question and is not agreed yet: its place in `all`, and how many sentences ago it was proposed.
    asked: Option<(usize, usize)>,
}

/// For how many sentences another day may be proposed in place of the one that was asked about.
const MOVABLE: usize = 4;

impl Known {
    /// A sentence was read that asks whether the event that was added last may be, or agrees to one.
    pub(super) fn heard(&mut self, asks: bool, sentence: &str) {
        let open = self.asked.take().filter(|(_, ago)| *ago < MOVABLE && !offers::agrees(sentence));
        let asked = asks.then(|| self.all.len().checked_sub(1)).flatten();
        self.asked = asked.map(|at| (at, 0)).or(open.map(|(at, ago)| (at, ago + 1)));
    }

    /// "Lesson on Friday? - I've got volleyball. Saturday?": the event that was asked about, where `stems` name it.
    fn moved(&mut self, day: NaiveDate, stems: &BTreeSet<String>) -> Option<usize> {
        let (at, _) = self.asked?;
        let (known, names) = self.days.get(at)?;
        (*known != day && (*known - day).num_days().abs() < 7 && !names.is_disjoint(stems)).then_some(at)
    }

    /// "The test is on Thursday, right? - Friday.": another day for the event that was added last.
    pub(super) fn correct(&mut self, answer: &str, dates: &[Found], reference: &Reference) {
        let alone = offers::time_alone(answer, dates).filter(|date| !date.bare);
        // "Lunch on Friday? - Friday's good, say half twelve."
        let hour = || {
            let day = self.days.last().map(|(day, _)| *day);
            let timed = dates.iter().filter(|date| date.time().is_some()).map(|date| date.clone().on(day));
            timed.filter(|_| offers::agrees(answer)).find(|date| Some(date.day()) == day)
        };
        let Some(date) = alone.or_else(hour) else { return };
        if let (Some(event), Some((day, _)), Some(start)) =
            (self.all.last_mut(), self.days.last_mut(), reference.start(&date))
        {
            event.start = start;
            *day = date.day();
        }
    }

    /// Adds an event; the same happening once more may say its time, or more words.
    pub(super) fn add(&mut self, day: NaiveDate, timed: bool, event: EventDraft) {
        let mut stems: BTreeSet<String> = content_stems(&event.title).into_iter().collect();
        if stems.is_empty() {
            stems.insert(event.title.to_lowercase());
        }
        if let Some(at) = self.moved(day, &stems)
            && let (Some(known), Some((old, _)), Some(known_timed)) =
                (self.all.get_mut(at), self.days.get_mut(at), self.timed.get_mut(at))
        {
            (known.start, known.duration, *old, *known_timed) = (event.start, event.duration, day, timed);
            return;
        }
        let same = |(other, known): &(NaiveDate, BTreeSet<String>)| {
            *other == day && (known.is_empty() || stems.is_empty() || !known.is_disjoint(&stems))
        };
        if let Some(at) = self.days.iter().position(same) {
            let (Some(known), Some((_, names)), Some(known_timed)) =
                (self.all.get_mut(at), self.days.get_mut(at), self.timed.get_mut(at))
            else {
                return;
            };
            // "The concert is on Saturday. It starts at eight."
            if timed && !std::mem::replace(known_timed, true) {
                (known.start, known.duration) = (event.start, event.duration);
            }
            if event.title.split(' ').count() > known.title.split(' ').count() && stems.is_superset(names) {
                known.title = event.title;
            }
            names.extend(stems);
            return;
        }
        if self.all.len() < MOST {
            self.all.push(event);
            self.days.push((day, stems));
            self.timed.push(timed);
        }
    }
}
