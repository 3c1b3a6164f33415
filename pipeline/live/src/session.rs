//! The session of one socket: a pure machine. At most one operation on the ledger is under way at a time; the machine
//! asks for it by an action and is answered by an event.

use crate::{
    CloseCode, Shown, StreamClock, Utterance, merge,
    shown::{origin_of, show, since},
};

/// Utterances that are appended at once, and the bytes of their text.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 256 * 1_024;
/// Bytes of text that may wait to be appended before the socket is read no further, and utterances: of a word each, they take
/// hundreds of times as much memory as their text.
const MOST_WAITING_BYTES: usize = 1_024 * 1_024;
const MOST_WAITING: usize = 10_000;
/// What a client's recognizer sends may be this many seconds old.
const CLIENTS_DELAY: f64 = 60.0;
/// How much longer a conversation lasts, in seconds, for words that are still being recognized.
const RECOGNIZED: f64 = 60.0;
/// What is heard as audio is as old as the network is slow.
const AUDIO_DELAY: f64 = 2.0;

/// The session's times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Silence that ends a conversation.
    pub silence: f64,
    /// The longest conversation.
    pub longest: f64,
    /// Segments are stored and shown at most so often.
    pub apart: f64,
    /// How often at least a conversation is renewed while speech goes on.
    pub renew: f64,
}

/// A conversation that the session owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Its id.
    pub id: String,
    /// How long ago it began; `None` while nothing was said in it.
    pub began_ago: Option<f64>,
    /// How long ago something was said in it, or it was made.
    pub silent_for: f64,
    /// It has pictures.
    pub pictured: bool,
}

/// Why a conversation is no longer the session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It is being processed, or was deleted.
    Ended,
    /// Another socket took it over.
    Superseded,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// [`Action::Open`] was carried out.
    Opened(Conversation),
    /// [`Action::Append`] was carried out; the speakers' numbers, in the order of its segments.
    Appended(Vec<Option<i32>>),
    /// [`Action::Append`] was not carried out: conversations before hold all of it.
    Repeated,
    /// [`Action::Append`] would make the conversation too large.
    Full,
    /// [`Action::Append`] exceeds what the user may store.
    OverBudget,
    /// [`Action::Renew`] was carried out.
    Renewed,
    /// [`Action::Admit`] was carried out, or another process admitted it before.
    Admitted,
    /// [`Action::Release`] was carried out.
    Released,
    /// An operation was refused, because the conversation is no longer the session's.
    Refused(Lost),
    /// [`Action::Open`] was refused: there is no such user any more.
    NoUser,
    /// An operation could not be carried out, and will not be.
    GaveUp,
    /// Audio arrived, from this second of the stream to that one.
    Audio(f64, f64),
    /// Speech goes on.
    Speech,
    /// A recognizer's final words, their times in seconds of the stream.
    Said {
        /// In order.
        utterances: Vec<Utterance>,
        /// The recognizer is the client's: the times are of a clock of its own.
        by_client: bool,
    },
    /// This conversation was admitted by another request of this process.
    AdmittedElsewhere(String),
    /// A picture was stored in this conversation: it has content, and is active.
    Pictured(String),
    /// Everything that was said is to be stored: [`Action::Flushed`] follows.
    Flush,
    /// Time passed: [`Session::deadline`].
    Tick,
    /// The session is to end.
    Leave(CloseCode),
}

/// What is to be done, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Open or resume a conversation.
    Open,
    /// Store segments; one whose id is stored already has grown. Their times are seconds since the conversation began.
    Append {
        /// In order.
        segments: Vec<Utterance>,
        /// The conversation begins with them: so many seconds ago.
        began_ago: Option<f64>,
    },
    /// Renew the conversation's last activity.
    Renew,
    /// End the conversation: it is to be processed.
    Admit,
    /// Give the conversation back; if nothing is in it, it is deleted.
    Release,
    /// Show segments to the client.
    Show(Vec<Shown>),
    /// The conversation is being processed.
    Ended(String),
    /// Everything that was said before [`Event::Flush`] is stored.
    Flushed,
    /// Close the socket; nothing follows.
    Close(CloseCode),
}

#[derive(Clone, Debug, PartialEq)]
enum InFlight {
    Opening,
    /// What was said, the segments that it makes, and what of them is shown.
    Appending {
        said: Vec<Utterance>,
        segments: Vec<Utterance>,
    },
    Renewing,
    Admitting,
    Releasing,
}

/// The conversation that is open.
#[derive(Clone, Debug)]
struct Open {
    id: String,
    /// When it began, in session seconds; `None` while nothing was said in it.
    origin: Option<f64>,
    /// When it had its first picture.
    pictured: Option<f64>,
    /// Its last segment, which may grow; in session seconds.
    last: Option<Utterance>,
    /// It takes no more.
    full: bool,
}

impl Open {
    /// When it had its first words, else its first picture; `None` while it is empty.
    fn began(&self) -> Option<f64> {
        self.origin.or(self.pictured)
    }
}

/// The machine. All times are seconds since the session began.
#[derive(Clone, Debug)]
pub struct Session {
    timing: Timing,
    clock: StreamClock,
    open: Option<Open>,
    in_flight: Option<InFlight>,
    /// Said and not yet stored, in session seconds.
    waiting: Vec<Utterance>,
    waiting_bytes: usize,
    last_activity: f64,
    is_recognizing: bool,
    stored_at: f64,
    renewed_at: f64,
    flushing: bool,
    ended_elsewhere: Option<String>,
    leaving: Option<CloseCode>,
    closed: bool,
}

impl Session {
    /// A session that began now, and its first action.
    pub fn begin(timing: Timing) -> (Self, Vec<Action>) {
        let mut session = Self {
            timing,
            clock: StreamClock::default(),
            open: None,
            in_flight: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            last_activity: 0.0,
            is_recognizing: false,
            stored_at: -timing.apart,
            renewed_at: 0.0,
            flushing: false,
            ended_elsewhere: None,
            leaving: None,
            closed: false,
        };
        let mut actions = Vec::new();
        session.go_on(0.0, &mut actions);
        (session, actions)
    }

    /// Takes an event, and answers what is to be done.
    pub fn on(&mut self, event: Event, now: f64) -> Vec<Action> {
        let mut actions = Vec::new();
        if !self.closed {
            self.take(event, now, &mut actions);
            self.go_on(now, &mut actions);
        }
        actions
    }

    /// Whether speech that was heard is being recognized: its words may come, and belong to the conversation.
    pub fn recognizing(&mut self, is_recognizing: bool) {
        self.is_recognizing = is_recognizing;
    }

    /// When [`Event::Tick`] has something to do; `None` while an operation is under way.
    pub fn deadline(&self) -> Option<f64> {
        if self.closed || self.in_flight.is_some() {
            return None;
        }
        let open = self.open.as_ref()?;
        if !self.waiting.is_empty() {
            return Some(self.stored_at + self.timing.apart);
        }
        let end = open.began().map_or(f64::INFINITY, |began| self.end_of(began));
        Some(end.min(self.renewal(open)))
    }

    /// Whether so much waits to be stored that nothing more should be read.
    pub fn is_full(&self) -> bool {
        self.waiting_bytes > MOST_WAITING_BYTES || self.waiting.len() > MOST_WAITING
    }

    /// The conversation that the session owns.
    pub fn conversation(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.id.as_str())
    }

    /// Whether everything is done.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn take(&mut self, event: Event, now: f64, actions: &mut Vec<Action>) {
        match event {
            Event::Tick => {}
            Event::Audio(from, until) => self.clock.arrived(from, until, now, AUDIO_DELAY),
            Event::Speech => self.last_activity = now,
            Event::Said { utterances, by_client } => self.hear(utterances, by_client, now),
            Event::Pictured(id) => {
                if let Some(open) = self.open.as_mut().filter(|open| open.id == id) {
                    open.pictured = open.pictured.or(Some(now));
                    (self.last_activity, self.renewed_at) = (now, now);
                }
            }
            Event::Flush => self.flushing = true,
            Event::AdmittedElsewhere(id) => self.ended_elsewhere = Some(id),
            Event::Leave(leave) => {
                self.leaving.get_or_insert(leave);
            }
            answer => self.take_answer(answer, now, actions),
        }
    }

    /// An answer to the operation under way; one to another operation is not for us.
    fn take_answer(&mut self, answer: Event, now: f64, actions: &mut Vec<Action>) {
        let Some(in_flight) = self.in_flight.take() else { return };
        match (in_flight, answer) {
            (_, Event::GaveUp) => self.close(self.leaving.unwrap_or(CloseCode::Failed), actions),
            (_, Event::OverBudget) => self.close(CloseCode::OverBudget, actions),
            (_, Event::NoUser) => self.close(CloseCode::Refused, actions),
            (_, Event::Refused(Lost::Superseded)) => self.close(CloseCode::Superseded, actions),
            (InFlight::Opening, Event::Opened(conversation)) => self.opened(conversation, now),
            (InFlight::Appending { segments, .. }, Event::Appended(numbers)) => {
                self.appended(segments, &numbers, now, actions);
            }
            (InFlight::Appending { segments, .. }, Event::Repeated) => self.repeated(&segments, now, actions),
            (InFlight::Appending { said, .. }, Event::Full) => {
                self.wait_again(said);
                self.open.iter_mut().for_each(|open| open.full = true);
            }
            (InFlight::Appending { said, .. }, Event::Refused(Lost::Ended)) => {
                self.wait_again(said);
                self.end(actions);
            }
            (InFlight::Renewing, Event::Renewed) => self.renewed_at = now,
            (InFlight::Admitting, Event::Admitted)
            | (InFlight::Renewing | InFlight::Admitting, Event::Refused(Lost::Ended)) => self.end(actions),
            (InFlight::Releasing, Event::Released | Event::Refused(Lost::Ended)) => self.open = None,
            (in_flight, _) => self.in_flight = Some(in_flight),
        }
    }

    fn hear(&mut self, utterances: Vec<Utterance>, by_client: bool, now: f64) {
        for mut utterance in utterances {
            if by_client {
                self.clock.arrived(utterance.start, utterance.end, now, CLIENTS_DELAY);
            }
            (utterance.start, utterance.end) = self.clock.locate(utterance.start, utterance.end, now);
            self.waiting_bytes += utterance.text.len();
            self.waiting.push(utterance);
            self.last_activity = now;
        }
    }

    fn opened(&mut self, conversation: Conversation, now: f64) {
        let Conversation { id, began_ago, silent_for, pictured } = conversation;
        if self.waiting.is_empty() {
            self.last_activity = now - silent_for;
        }
        self.renewed_at = now;
        let (origin, pictured) = (began_ago.map(|ago| now - ago), pictured.then_some(now - silent_for));
        self.open = Some(Open { id, origin, pictured, last: None, full: false });
    }

    fn appended(
        &mut self,
        segments: Vec<Utterance>,
        numbers: &[Option<i32>],
        now: f64,
        actions: &mut Vec<Action>,
    ) {
        (self.stored_at, self.renewed_at) = (now, now);
        let Some(open) = &mut self.open else { return };
        let origin = *open.origin.get_or_insert_with(|| origin_of(&segments));
        actions.push(Action::Show(show(&segments, numbers, origin)));
        open.last = segments.into_iter().next_back();
    }

    /// The client is shown what it repeated, so that it stops; the conversation is as it was.
    fn repeated(&mut self, segments: &[Utterance], now: f64, actions: &mut Vec<Action>) {
        self.stored_at = now;
        let origin = self.open.as_ref().and_then(|open| open.origin);
        let origin = origin.unwrap_or_else(|| origin_of(segments));
        actions.push(Action::Show(show(segments, &[], origin)));
    }

    /// What was not stored waits again, before what came since.
    fn wait_again(&mut self, mut said: Vec<Utterance>) {
        self.waiting_bytes += said.iter().map(|utterance| utterance.text.len()).sum::<usize>();
        said.append(&mut self.waiting);
        self.waiting = said;
    }

    /// The conversation is not ours any more; the session goes on with another one.
    fn end(&mut self, actions: &mut Vec<Action>) {
        actions.extend(self.open.take().map(|open| Action::Ended(open.id)));
    }

    fn close(&mut self, code: CloseCode, actions: &mut Vec<Action>) {
        self.closed = true;
        if std::mem::take(&mut self.flushing) {
            actions.push(Action::Flushed);
        }
        actions.push(Action::Close(code));
    }

    /// Begins the next operation, unless one is under way.
    fn go_on(&mut self, now: f64, actions: &mut Vec<Action>) {
        if self.closed || self.in_flight.is_some() {
            return;
        }
        if let Some(ended) = self.ended_elsewhere.take()
            && self.conversation() == Some(ended.as_str())
        {
            self.end(actions);
        }
        if self.waiting.is_empty() && std::mem::take(&mut self.flushing) {
            actions.push(Action::Flushed);
        }
        match (&self.open, self.leaving) {
            (None, Some(code)) if self.waiting.is_empty() => self.close(code, actions),
            (None, _) => self.ask(InFlight::Opening, Action::Open, actions),
            (Some(open), _) if open.full => self.ask(InFlight::Admitting, Action::Admit, actions),
            (Some(_), leaving) if !self.waiting.is_empty() => {
                let is_due = now >= self.stored_at + self.timing.apart;
                if is_due || self.flushing || leaving.is_some() {
                    self.append(now, actions);
                }
            }
            (Some(_), Some(_)) => self.ask(InFlight::Releasing, Action::Release, actions),
            (Some(open), None) if open.began().is_some_and(|began| now >= self.end_of(began)) => {
                self.ask(InFlight::Admitting, Action::Admit, actions);
            }
            (Some(open), None) if now >= self.renewal(open) => {
                self.ask(InFlight::Renewing, Action::Renew, actions);
            }
            (Some(_), None) => {}
        }
    }

    fn ask(&mut self, in_flight: InFlight, action: Action, actions: &mut Vec<Action>) {
        self.in_flight = Some(in_flight);
        actions.push(action);
    }

    fn append(&mut self, now: f64, actions: &mut Vec<Action>) {
        let mut bytes = 0;
        let fits = |utterance: &&Utterance| {
            let first = bytes == 0;
            bytes += utterance.text.len();
            first || bytes <= BATCH_BYTES
        };
        let many = self.waiting.iter().take(BATCH).take_while(fits).count();
        let said: Vec<_> = self.waiting.drain(..many).collect();
        self.waiting_bytes -= said.iter().map(|utterance| utterance.text.len()).sum::<usize>();
        let Some(open) = &self.open else { return };
        let segments = merge(open.last.as_ref(), &said);
        let origin = open.origin.unwrap_or_else(|| origin_of(&segments));
        let stored = segments.iter().map(|segment| Utterance {
            start: since(segment.start, origin),
            end: since(segment.end, origin),
            ..segment.clone()
        });
        let began_ago = open.origin.is_none().then(|| (now - origin).max(0.0));
        let action = Action::Append { segments: stored.collect(), began_ago };
        self.ask(InFlight::Appending { said, segments }, action, actions);
    }

    /// When the conversation that `began` then ends, if nothing more is said.
    fn end_of(&self, began: f64) -> f64 {
        let more = if self.is_recognizing { RECOGNIZED } else { 0.0 };
        (self.last_activity + self.timing.silence + more).min(began + self.timing.longest)
    }

    /// When the conversation is to be renewed: while speech goes on or is recognized, and a stub for as long as the session lasts.
    fn renewal(&self, open: &Open) -> f64 {
        match self.last_activity > self.renewed_at || self.is_recognizing || open.began().is_none() {
            true => self.renewed_at + self.timing.renew,
            false => f64::INFINITY,
        }
    }
}
