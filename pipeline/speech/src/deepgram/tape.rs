//! The audio of a session that is not final yet, kept to be sent again after a lost connection: 60 s at most, and less where all
//! sessions together keep too much ([`Held`]).

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::Instant;

use super::timeline::Timeline;
use crate::held::{Held, Share};
use crate::{Gap, RATE, Reason, seconds};

/// What is kept: 60 s.
const MOST: u64 = 60 * RATE as u64;
/// Audio is sent in pieces of at most a second.
const LONGEST_PIECE: usize = RATE as usize;

/// What is sent next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// Samples of all tracks in turn, little-endian, and how many of each track.
    Audio(Vec<u8>, u64),
    /// The engine shall make final what it has.
    Finalize,
}

enum Item {
    Audio {
        /// The session's sample with which it begins.
        at: u64,
        /// Samples of all tracks in turn.
        samples: Vec<i16>,
        /// When it was heard.
        heard: Instant,
    },
    /// Speech ended here.
    Pause,
    /// The caller waits until everything before is settled; sent then.
    Flush(Option<Instant>),
}

/// What became settled.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// Flushes whose audio is all settled.
    pub(super) flushed: usize,
    /// When the last of it was heard.
    pub(super) heard: Option<Instant>,
}

/// One session's tape.
pub(super) struct Tape {
    tracks: usize,
    items: VecDeque<Item>,
    /// Items that were sent over this connection; they stand first.
    sent: usize,
    /// What is kept.
    held: Share,
    /// Kept no more, but sent and not final: lost if this connection is.
    forgotten: Vec<(u64, u64)>,
    lost: Vec<Gap>,
    pub(super) closed: bool,
}

impl Tape {
    pub(super) fn new(tracks: u8, held: &Arc<Held>) -> Self {
        let tracks = usize::from(tracks.clamp(1, 2));
        Self {
            tracks,
            items: VecDeque::new(),
            sent: 0,
            held: held.share(tracks),
            forgotten: Vec::new(),
            lost: Vec::new(),
            closed: false,
        }
    }

    /// Adds the session's samples from `at` on, of all tracks in turn.
    pub(super) fn record(&mut self, at: u64, frame: &[i16], now: Instant) {
        let length = (frame.len() / self.tracks) as u64;
        self.held.add(length);
        let unsent = self.items.len() > self.sent;
        match self.items.back_mut().filter(|_| unsent) {
            Some(Item::Audio { at: begin, samples, heard })
                if *begin + (samples.len() / self.tracks) as u64 == at
                    && samples.len() + frame.len() <= LONGEST_PIECE * self.tracks =>
            {
                samples.extend_from_slice(frame);
                *heard = now;
            }
            _ => {
                // What grew by doubling holds up to twice of what counts.
                if let Some(Item::Audio { samples, .. }) = self.items.back_mut() {
                    samples.shrink_to_fit();
                }
                self.items.push_back(Item::Audio { at, samples: frame.to_vec(), heard: now });
            }
        }
        while (self.held.samples() > MOST || self.held.is_over()) && self.drop_oldest() {}
    }

    /// Seconds of speech that are not final.
    pub(super) fn waiting(&self) -> f64 {
        seconds(self.held.samples())
    }

    /// Speech ended: what was said until now shall become final.
    pub(super) fn pause(&mut self) {
        self.items.push_back(Item::Pause);
    }

    /// The caller waits until everything before is settled.
    pub(super) fn flush(&mut self) {
        self.items.push_back(Item::Flush(None));
    }

    /// The next thing to send over this connection. `timeline` notes where it stands in the stream.
    pub(super) fn next(&mut self, timeline: &mut Timeline, now: Instant) -> Option<Outgoing> {
        let item = self.items.get_mut(self.sent)?;
        self.sent += 1;
        Some(match item {
            Item::Audio { at, samples, .. } => {
                let length = (samples.len() / self.tracks) as u64;
                timeline.sent(*at, length);
                Outgoing::Audio(samples.iter().flat_map(|sample| sample.to_le_bytes()).collect(), length)
            }
            Item::Pause => Outgoing::Finalize,
            Item::Flush(sent) => {
                *sent = Some(now);
                Outgoing::Finalize
            }
        })
    }

    /// Everything before the session's sample `to` is final.
    pub(super) fn settle(&mut self, to: u64) -> Settled {
        self.forgotten.retain_mut(|(start, end)| {
            *start = (*start).max(to);
            start < end
        });
        let mut settled = Settled::default();
        loop {
            match self.items.front_mut() {
                Some(Item::Audio { at, samples, heard }) if *at < to && self.sent > 0 => {
                    let length = (samples.len() / self.tracks) as u64;
                    let part = length.min(to - *at);
                    self.held.remove(part);
                    settled.heard = Some(*heard);
                    if part < length {
                        samples.drain(..usize::try_from(part).unwrap_or(0) * self.tracks);
                        *at += part;
                        return settled;
                    }
                }
                Some(Item::Pause) => (),
                Some(Item::Flush(_)) => settled.flushed += 1,
                _ => return settled,
            }
            self.items.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
    }

    /// The session's sample up to which a `Finalize` that was answered settles: the end of the audio before the first
    /// one that is outstanding.
    pub(super) fn first_finalize(&self) -> Option<u64> {
        let mut end = 0;
        for item in self.items.iter().take(self.sent) {
            match item {
                Item::Audio { at, samples, .. } => end = at + (samples.len() / self.tracks) as u64,
                Item::Pause | Item::Flush(_) => return Some(end),
            }
        }
        None
    }

    /// A flush that was sent before `before` has waited long enough; what is not final goes on as it was. False when
    /// there was no such flush.
    pub(super) fn answer_flush(&mut self, before: Instant) -> bool {
        let sent = |item: &Item| matches!(item, Item::Flush(Some(sent)) if *sent <= before);
        let first = self.items.iter_mut().take(self.sent).find(|item| sent(item));
        first.map(|item| *item = Item::Pause).is_some()
    }

    /// Samples that were sent and are not final.
    pub(super) fn unsettled(&self) -> u64 {
        self.items.iter().take(self.sent).map(|item| self.length(item)).sum()
    }

    /// Nothing is left to send or to become final, a remainder that holds no word apart.
    pub(super) fn is_idle(&self) -> bool {
        self.items.len() == self.sent && self.held.samples() < u64::from(RATE)
    }

    /// Something waits that this connection was not sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.items.len() > self.sent
    }

    /// The connection is lost: everything that is not final is sent again.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
        self.lose_forgotten();
    }

    fn lose_forgotten(&mut self) {
        for (start, end) in std::mem::take(&mut self.forgotten) {
            self.lose(start, end, Reason::Overloaded);
        }
    }

    /// Gives up what was sent, or everything; returns how many flushes it held.
    pub(super) fn give_up(&mut self, everything: bool, reason: Reason) -> usize {
        self.lose_forgotten();
        if everything {
            self.sent = self.items.len();
        }
        let mut flushed = 0;
        for item in self.items.drain(..self.sent).collect::<Vec<_>>() {
            match item {
                Item::Audio { at, samples, .. } => {
                    let length = (samples.len() / self.tracks) as u64;
                    self.held.remove(length);
                    self.lose(at, at + length, reason);
                }
                Item::Pause => (),
                Item::Flush(_) => flushed += 1,
            }
        }
        self.sent = 0;
        flushed
    }

    /// A remainder in which nothing was said need not be sent again; returns how many flushes waited for it.
    pub(super) fn forget(&mut self) -> usize {
        let to = self.items.iter().take(self.sent).filter_map(|item| match item {
            Item::Audio { at, samples, .. } => Some(at + (samples.len() / self.tracks) as u64),
            Item::Pause | Item::Flush(_) => None,
        });
        let to = to.max().unwrap_or(0);
        let flushed = self.settle(to).flushed;
        self.sent = 0;
        self.forgotten.clear();
        flushed
    }

    /// What was given up since the last call.
    pub(super) fn take_lost(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.lost)
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(oldest) = self.items.iter().position(|item| matches!(item, Item::Audio { .. })) else {
            return false;
        };
        let Some(Item::Audio { at, samples, .. }) = self.items.remove(oldest) else { return false };
        let length = (samples.len() / self.tracks) as u64;
        self.held.remove(length);
        if oldest < self.sent {
            self.sent -= 1;
            match self.forgotten.last_mut().filter(|(_, end)| *end == at) {
                Some((_, end)) => *end += length,
                None => self.forgotten.push((at, at + length)),
            }
        } else {
            self.lose(at, at + length, Reason::Overloaded);
        }
        true
    }

    /// Neighbours are one gap.
    fn lose(&mut self, start: u64, end: u64, reason: Reason) {
        let next = gap(start, end, reason);
        match self.lost.last_mut() {
            Some(last) if last.reason == reason && (last.end - next.start).abs() < 1e-6 => {
                last.end = next.end
            }
            _ => self.lost.push(next),
        }
    }

    fn length(&self, item: &Item) -> u64 {
        match item {
            Item::Audio { samples, .. } => (samples.len() / self.tracks) as u64,
            Item::Pause | Item::Flush(_) => 0,
        }
    }
}

fn gap(start: u64, end: u64, reason: Reason) -> Gap {
    Gap { start: seconds(start), end: seconds(end), reason }
}

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
