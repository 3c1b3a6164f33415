//! Bounds the memory that request bodies, unsent answers and pictures of live sockets take (`LISTEN_MEMORY_BUDGET`), in all and
//! for one user.
//!
//! A body is reserved for as it arrives and until its request is done; the JSON values that are made of it while they are
//! parsed; the transcripts of a page and the pictures of a conversation before they are loaded; the tools of a user's apps while
//! a turn of the assistant uses them; an answer until its last byte is written to the socket or its connection is closed. What
//! does not fit is refused with 503 and never waited for: a request that waits holds memory, too.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, OnceLock},
};

use axum::{
    body::{Body, Bytes, HttpBody, to_bytes},
    http::{StatusCode, header::CONTENT_LENGTH},
    response::{IntoResponse, Response},
};
use futures::stream;
use parking_lot::Mutex;
use prometheus::IntGauge;
use records::UserId;
use serde::Serialize;

use crate::{Error, error::Code};

/// Bodies and answers up to this size are not counted: the number of connections bounds them.
const UNCOUNTED: usize = 16 * 1_024;
/// One user holds at most this part of the budget.
const USERS_PART: usize = 4;
/// An answer is handed to its connection in pieces of this size: a connection keeps copies of what it was handed.
const PIECE: usize = 16 * 1_024;

/// Why memory is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// More than one user may ever hold.
    TooLarge,
    /// Too much is held at the moment.
    Busy,
}

impl From<Refused> for Error {
    fn from(_: Refused) -> Self {
        Self::Refused(Code::Overloaded)
    }
}

impl Refused {
    /// Of a page: one that a user may never hold is one to ask less of.
    pub(crate) fn of_page(self) -> Error {
        match self {
            Self::TooLarge => db::Error::TooMuch.into(),
            Self::Busy => self.into(),
        }
    }
}

/// The memory of one process.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    held: Mutex<HashMap<UserId, usize>>,
    /// The sum over all users, as it is shown.
    gauge: IntGauge,
}

impl Budget {
    pub(crate) fn new(bytes: usize, gauge: IntGauge) -> Arc<Self> {
        Arc::new(Self { bytes, held: Mutex::default(), gauge })
    }

    /// What a user holds.
    #[cfg(test)]
    pub(crate) fn held(&self, user: &UserId) -> usize {
        self.held.lock().get(user).copied().unwrap_or(0)
    }

    /// Makes the reservation `from` one of `to` bytes; refuses to grow it past a limit unless `force`d.
    fn resize(&self, user: &UserId, from: usize, to: usize, force: bool) -> Result<(), Refused> {
        let part = self.bytes / USERS_PART;
        let mut held = self.held.lock();
        if to > from && !force {
            let users = held.get(user).map_or(to, |held| held - from + to);
            let all = held.values().sum::<usize>() - from + to;
            if to > part {
                return Err(Refused::TooLarge);
            }
            if users > part || all > self.bytes {
                return Err(Refused::Busy);
            }
        }
        let users = held.entry(user.clone()).or_default();
        *users = *users - from + to;
        if *users == 0 {
            held.remove(user);
        }
        self.gauge.add(to as i64 - from as i64);
        Ok(())
    }
}

/// Bytes that a user holds; given back when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    user: UserId,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn none(budget: &Arc<Budget>, user: &UserId) -> Self {
        Self { budget: Arc::clone(budget), user: user.clone(), bytes: 0 }
    }

    /// Holds `bytes` from now on, instead of what it held.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), Refused> {
        self.budget.resize(&self.user, self.bytes, bytes, false)?;
        self.bytes = bytes;
        Ok(())
    }

    fn force(&mut self, bytes: usize) {
        if self.budget.resize(&self.user, self.bytes, bytes, true).is_ok() {
            self.bytes = bytes;
        }
    }

    fn take(&mut self) -> Self {
        let bytes = std::mem::take(&mut self.bytes);
        Self { budget: Arc::clone(&self.budget), user: self.user.clone(), bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.force(0);
    }
}

/// What one request holds; goes with the request. Nothing is counted until its user is known: nothing large is read or
/// made for anybody else.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    budget: Arc<Budget>,
    opened: Arc<OnceLock<Opened>>,
}

#[derive(Debug)]
struct Opened {
    user: UserId,
    body: Mutex<Reservation>,
    answer: Mutex<Reservation>,
}

impl Account {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), opened: Arc::default() }
    }

    /// As many bytes as one user may hold.
    pub(crate) fn most(&self) -> usize {
        self.budget.bytes / USERS_PART
    }

    /// Counts what the request holds for `user`.
    pub(crate) fn open(&self, user: &UserId) {
        self.opened.get_or_init(|| Opened {
            user: user.clone(),
            body: Mutex::new(Reservation::none(&self.budget, user)),
            answer: Mutex::new(Reservation::none(&self.budget, user)),
        });
    }

    /// Holds `bytes` for the request's body, until the request is done or [`release_body`](Self::release_body).
    pub(crate) fn hold_body(&self, bytes: usize) -> Result<(), Refused> {
        match self.opened.get() {
            Some(opened) if bytes > UNCOUNTED => opened.body.lock().resize(bytes),
            _ => Ok(()),
        }
    }

    /// Of what was sent, nothing is kept any more.
    pub(crate) fn release_body(&self) {
        if let Some(opened) = self.opened.get() {
            opened.body.lock().force(0);
        }
    }

    /// Holds `bytes` for as long as the reservation lives.
    pub(crate) fn hold(&self, bytes: usize) -> Result<Option<Reservation>, Refused> {
        let Some(opened) = self.opened.get().filter(|_| bytes > UNCOUNTED) else { return Ok(None) };
        // What stands beside the request's own body never fits when both are too much.
        if bytes > self.most().saturating_sub(opened.body.lock().bytes) {
            return Err(Refused::TooLarge);
        }
        let mut held = Reservation::none(&self.budget, &opened.user);
        held.resize(bytes)?;
        Ok(Some(held))
    }

    /// Holds what is to be loaded. The longest are loaded while their user holds nothing else: whether there is room for their answer
    /// is known then.
    pub(crate) fn hold_to_load(&self, bytes: usize) -> Result<Option<Reservation>, Refused> {
        self.hold(bytes.min(self.most()))
    }

    /// Holds `bytes` more for the answer that is being made.
    pub(crate) fn hold_for_answer(&self, bytes: usize) -> Result<(), Refused> {
        let Some(opened) = self.opened.get() else { return Ok(()) };
        let mut held = opened.answer.lock();
        let bytes = held.bytes.saturating_add(bytes);
        held.resize(bytes)
    }

    /// Holds what a list loads, and as much again for the answer that is written from it.
    pub(crate) fn hold_for_list(&self, bytes: usize) -> Result<(), Refused> {
        self.hold_for_answer(2 * bytes)
    }

    /// Refuses a user who holds all that one may, before anything large is loaded.
    pub(crate) fn has_room(&self) -> Result<(), Refused> {
        self.hold(UNCOUNTED + 1).map(drop)
    }

    /// `shape` as JSON, in memory that is reserved before it is used.
    pub(crate) fn json(&self, shape: &impl Serialize) -> Result<Bytes, Error> {
        let mut length = Length(0);
        let mut write = || serde_json::to_writer(&mut length, shape);
        write().map_err(|_| Error::Unwritable)?;
        self.hold_for_answer(length.0)?;
        let mut bytes = Vec::with_capacity(length.0);
        serde_json::to_writer(&mut bytes, shape).map_err(|_| Error::Unwritable)?;
        Ok(bytes.into())
    }

    /// An answer that holds its memory until it is sent. `may_refuse`: asking again does no harm.
    pub(crate) async fn hold_answer(&self, answer: Response, may_refuse: bool, encoder: usize) -> Response {
        self.release_body();
        let size = answer.body().size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let (Some(opened), Some(size)) = (self.opened.get(), size.filter(|size| *size > UNCOUNTED)) else {
            return answer;
        };
        let mut held = opened.answer.lock().take();
        // Memory that was not reserved by its size has grown step by step, to up to twice of what is in it.
        let needed = encoder + if held.bytes < size { 2 * size } else { size };
        if held.bytes < size && may_refuse {
            if held.resize(needed).is_err() {
                return Error::Refused(Code::Overloaded).into_response();
            }
        } else {
            held.force(needed);
        }
        let (mut parts, body) = answer.into_parts();
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        parts.headers.insert(CONTENT_LENGTH, size.into());
        let mut rest = Bytes::from_owner(Held { bytes, _until_sent: held });
        let pieces = std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| Ok::<_, io::Error>(rest.split_to(rest.len().min(PIECE))))
        });
        Response::from_parts(parts, Body::from_stream(stream::iter(pieces)))
    }
}

/// Bytes that give their memory back where the last piece of them is dropped, wherever that is.
struct Held {
    bytes: Bytes,
    _until_sent: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Counts what is written.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
