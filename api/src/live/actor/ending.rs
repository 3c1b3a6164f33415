//! How a session ends: recognition finishes what was said, the machine stores it, and the socket is closed.

use std::sync::atomic::Ordering::Relaxed;

use live::{Action, CloseCode, Event, ServiceStatus, StatusFrame};
use tokio::{
    sync::mpsc,
    time::{Duration, Instant, timeout},
};

use super::{Actor, Out, writer};

/// How long recognition may take for what was said before the end.
const FINISH: Duration = Duration::from_secs(5);
/// The same, when no one waits for it: the client has closed the socket, or another one has taken its conversation over.
const FINISH_ALONE: Duration = Duration::from_secs(30);
/// How long what was said may take to be stored after that.
const STORE: Duration = Duration::from_secs(5);
/// The same, when no client waits for it.
const STORE_ALONE: Duration = Duration::from_secs(60);

/// An end that has begun.
pub(crate) struct Ending {
    pub(super) code: CloseCode,
    /// Recognition is waited for until then; `None` when it is done.
    finish_until: Option<Instant>,
    /// The session machine has been notified.
    reported: bool,
    /// Then the session is given up.
    over_at: Instant,
}

impl Ending {
    /// When it is to be looked at next.
    pub(super) fn next(&self) -> Instant {
        self.finish_until.unwrap_or(self.over_at)
    }

    fn hurry(&mut self, now: Instant) {
        if let Some(until) = &mut self.finish_until {
            *until = (*until).min(now + FINISH);
        }
        self.over_at = self.over_at.min(now + FINISH + STORE);
    }

    /// Recognition has had its time.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.finish_until.is_some_and(|until| now >= until)
    }

    /// Everything has had its time.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.over_at
    }
}

impl Actor {
    /// Begins to end the session, unless it is ending already, or over.
    pub(crate) fn leave(&mut self, code: CloseCode) {
        if self.ending.is_some() || self.is_over {
            return;
        }
        self.operator.opens.is_ending.store(true, Relaxed);
        let (finish, store) = match code {
            CloseCode::ByClient | CloseCode::Superseded => {
                // Nothing more is sent to the client: the close frame goes out now, and the rest is stored after it.
                self.close = Some(code);
                self.seat.linger(self.state.settings.live.sessions_per_user);
                (FINISH_ALONE, STORE_ALONE)
            }
            _ => (FINISH, STORE),
        };
        let now = Instant::now();
        let finish_until = match &mut self.ear {
            Some(ear) => {
                ear.flush();
                now + finish
            }
            None => now,
        };
        let ending =
            Ending { code, finish_until: Some(finish_until), reported: false, over_at: finish_until + store };
        self.ending = Some(ending);
    }

    /// The process is being replaced: the client is asked to connect again, and its conversation stays in progress. A session without a
    /// client has no longer than one with a client from now on: the process is killed when its grace period is over.
    pub(super) fn restart(&mut self) {
        match &mut self.ending {
            Some(ending) => ending.hurry(Instant::now()),
            None => {
                self.status(StatusFrame::of(ServiceStatus::Restarting));
                self.leave(CloseCode::Restarting);
            }
        }
    }

    /// What was heard before a request is recognized, or its time is over.
    pub(super) fn flushed(&mut self) -> Vec<Action> {
        match self.flush_until.take().is_some() || !self.flushes.is_empty() {
            true => self.on(Event::Flush),
            false => Vec::new(),
        }
    }

    /// Nothing more will be recognized: everything that was heard is, or its time is over.
    pub(super) fn finished(&mut self) -> Vec<Action> {
        if let Some(ending) = &mut self.ending {
            ending.finish_until = None;
        }
        self.flushed()
    }

    /// Once nothing more is to be recognized, and nothing is done beside the machine's operations, the machine ends the
    /// session.
    pub(super) fn leave_when_ready(&mut self) -> Vec<Action> {
        let is_idle = self.todo.is_empty();
        match &mut self.ending {
            Some(ending) if ending.finish_until.is_none() && !ending.reported && is_idle => {
                ending.reported = true;
                let code = ending.code;
                self.on(Event::Leave(code))
            }
            _ => Vec::new(),
        }
    }

    /// Why the socket is closed. A client whose words could not be stored in time gets its close frame from here.
    pub(super) async fn last_word(&mut self, out: mpsc::Sender<Out>) -> CloseCode {
        let code = self.close.or(self.ending.as_ref().map(|ending| ending.code));
        let code = code.unwrap_or(CloseCode::ByClient);
        if !self.close_sent {
            let _ = out.try_send(Out::Close(code));
            // A process that stops waits for this session, and not for its writer.
            let _ = timeout(writer::REST, out.closed()).await;
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The platform killed a process with sessions whose clients had left, and what they had heard was lost with it.
    #[test]
    fn ending_without_a_client_is_as_short_as_any_other_when_the_process_stops() {
        let now = Instant::now();
        let (finish, over) = (now + FINISH_ALONE, now + FINISH_ALONE + STORE_ALONE);
        let code = CloseCode::ByClient;
        let mut ending = Ending { code, finish_until: Some(finish), reported: false, over_at: over };
        ending.hurry(now);
        assert_eq!((ending.next(), ending.over_at), (now + FINISH, now + FINISH + STORE));
        let soon = now + FINISH / 2;
        let mut ending = Ending { code, finish_until: None, reported: true, over_at: soon };
        ending.hurry(now);
        assert_eq!(ending.next(), soon, "it is not prolonged");
    }
}
