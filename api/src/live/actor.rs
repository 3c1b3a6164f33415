//! The task of one socket: one loop that waits for everything that can happen, and hands it to the machine.

mod ending;
mod intake;
mod looks;

use std::{collections::HashMap, collections::VecDeque, sync::Arc};

use axum::extract::ws::{Message, WebSocket};
use futures::{StreamExt, future::BoxFuture};
use live::{Action, CloseCode, Event, ServerFrame, ServiceStatus, Session, StatusFrame};
use records::ConversationId;
use speech::Events;
use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinSet, coop::consume_budget},
    time::{Duration, Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use self::{
    ending::Ending,
    intake::{Done, Todo, broken},
    looks::Looked,
};
use super::{
    after,
    ear::Ear,
    operate::{Current, Operator, Outcome},
    pictures::Pictures,
    usage::Taken,
    writer::{self, Framed, Out},
};
use crate::{
    registry::{Command, Seat},
    state::{Account, AppState},
};

/// How often a client is sent `ping`.
pub(super) const PING: Duration = Duration::from_secs(10);
/// A client that sends nothing for this long is gone.
const IDLE: Duration = Duration::from_secs(90);
/// How long recognition may take to finish what was said before a conversation is ended on request.
const FLUSH: Duration = Duration::from_secs(3);
/// Frames that wait for a slow client before nothing more is read from it, and their bytes.
const MOST_WAITING: usize = 64;
const MOST_BYTES: usize = 1_024 * 1_024;
/// Conversations whose processing a session follows for its client at a time.
const MOST_FOLLOWED: usize = 16;
/// Pings, and words that may still change, are not sent when so many frames wait.
const BUSY: usize = 8;

/// The task of one socket.
pub(crate) struct Actor {
    pub(super) state: AppState,
    /// The memory that the user may hold.
    pub(super) account: Account,
    pub(super) operator: Arc<Operator>,
    pub(super) key: [u8; 32],
    pub(super) client_stt: bool,
    /// Audio of this session may not be recognized: its user's own key is required and missing.
    pub(super) audio_refused: bool,
    /// Audio is recognized under the service's key.
    pub(super) under_service_key: bool,
    pub(super) seat: Seat,
    pub(super) stop: CancellationToken,
    /// The process ends, and waits for this session.
    pub(super) is_stopping: bool,
    pub(super) session: Session,
    pub(super) began: Instant,
    pub(super) current: Option<Current>,
    pub(super) ear: Option<Ear>,
    pub(super) taken: Taken,
    /// The engine recognizes this session's audio.
    pub(super) recognizes_audio: bool,
    pub(super) engine_name: &'static str,
    pub(super) pictures: Pictures,
    /// Who speakers are, by their numbers.
    pub(super) speakers: HashMap<i32, Option<String>>,
    pub(super) todo: VecDeque<Todo>,
    pub(super) outbox: VecDeque<Framed>,
    /// How the socket is closed, as soon as what waits for the client is sent.
    pub(super) close: Option<CloseCode>,
    pub(super) close_sent: bool,
    /// Everything that was said is stored, or given up.
    pub(super) is_over: bool,
    pub(super) paused_until: Instant,
    /// When the client has stopped in the middle of speech, if no more audio comes.
    pub(super) stops_at: Option<Instant>,
    pub(super) last_frame: Instant,
    pub(super) next_ping: Instant,
    pub(super) next_key: Instant,
    pub(super) next_parked: Instant,
    pub(super) flushes: Vec<oneshot::Sender<()>>,
    pub(super) flush_until: Option<Instant>,
    pub(super) ending: Option<Ending>,
    pub(super) commands: (mpsc::Sender<Command>, mpsc::Receiver<Command>),
    pub(super) followed: (mpsc::Sender<Framed>, mpsc::Receiver<Framed>),
    pub(super) followers: JoinSet<()>,
    pub(super) tried: Vec<job::JobId>,
}

/// What the loop waits for besides its timers.
type Working<T> = Option<BoxFuture<'static, T>>;

impl Actor {
    /// Serves the socket until it is closed and everything that was said is stored.
    pub(crate) async fn serve(mut self, socket: WebSocket, mut events: Option<Events>, first: Vec<Action>) {
        self.state.metrics.live.sessions.inc();
        let (sink, frames) = socket.split();
        let (mut frames, mut hanging_up) = (Some(frames), None);
        let out = writer::spawn(sink, self.state.settings.live.frame_taken_within);
        let mut reads = true;
        let mut work: Working<Outcome> = None;
        let mut side: Working<Done> = None;
        let mut look: Working<Looked> = None;
        self.greet();
        self.carry(first, &mut work);
        while !self.is_done(out.is_closed()) {
            let has_room = self.has_room();
            let listens = reads && has_room && self.ending.is_none() && self.paused_until <= Instant::now();
            if !listens {
                self.last_frame = Instant::now();
            }
            let wake = self.next_wake(listens, look.is_none());
            // A client that sends without end keeps no timer from its turn.
            let listens = listens && wake > Instant::now();
            let happened = tokio::select! {
                biased;
                () = self.stop.cancelled(), if !self.is_stopping => {
                    self.is_stopping = true;
                    self.restart();
                    Vec::new()
                }
                outcome = whole(&mut work), if work.is_some() => {
                    work = None;
                    self.took(outcome)
                }
                done = whole(&mut side), if side.is_some() => {
                    side = None;
                    self.done(done)
                }
                looked = whole(&mut look), if look.is_some() => {
                    look = None;
                    self.looked(looked);
                    Vec::new()
                }
                permit = out.reserve(), if self.has_output() => {
                    match (permit, self.output()) {
                        (Ok(permit), Some(frame)) => permit.send(frame),
                        _ => self.outbox.clear(),
                    }
                    Vec::new()
                }
                () = out.closed(), if self.ending.is_none() || self.is_over => {
                    reads = false;
                    self.leave(CloseCode::ByClient);
                    Vec::new()
                }
                event = next_event(&mut events), if events.is_some() && has_room => match event {
                    Some(event) => self.heard(event),
                    None => {
                        events = None;
                        self.finished()
                    }
                },
                Some(framed) = self.followed.1.recv() => {
                    self.push(framed);
                    Vec::new()
                }
                Some(command) = self.commands.1.recv() => self.command(command),
                frame = writer::next_frame(&mut frames), if listens => {
                    // Frames that came together are there at once: after some of them the thread's other tasks have their turns.
                    consume_budget().await;
                    self.last_frame = Instant::now();
                    match frame {
                        Some(Ok(Message::Close(_))) | None => {
                            reads = false;
                            self.leave(CloseCode::ByClient);
                            Vec::new()
                        }
                        Some(Err(error)) => {
                            reads = false;
                            self.leave(broken(error));
                            Vec::new()
                        }
                        Some(Ok(message)) => self.take(message),
                    }
                }
                () = sleep_until(wake) => self.tick(),
            };
            self.carry(happened, &mut work);
            if look.is_none() {
                look = self.look();
            }
            if side.is_none() {
                side = self.next_todo();
            }
            if side.is_none() {
                let leaving = self.leave_when_ready();
                self.carry(leaving, &mut work);
            }
            if self.close_sent
                && let Some(frames) = frames.take()
            {
                reads = false;
                hanging_up = Some(tokio::spawn(writer::hang_up(out.clone(), frames)));
            }
        }
        let code = self.last_word(out).await;
        if let Some(hanging_up) = hanging_up {
            let _ = tokio::time::timeout(writer::REST, hanging_up).await;
        }
        self.state.metrics.live.sessions.dec();
        self.state.metrics.live.closed.with_label_values(&[code.as_str()]).inc();
        tracing::debug!(reason = code.as_str(), "a live socket was closed");
    }

    /// Seconds since the session began.
    pub(super) fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub(super) fn since_beginning(&self) -> Duration {
        self.began.elapsed()
    }

    /// Hands an event to the machine.
    pub(super) fn on(&mut self, event: Event) -> Vec<Action> {
        let now = self.now();
        self.session.recognizing(self.ear.as_ref().is_some_and(Ear::is_recognizing));
        self.session.on(event, now)
    }

    pub(super) fn send(&mut self, frame: &ServerFrame<'_>) {
        self.push((frame.text(), None));
    }

    fn push(&mut self, framed: Framed) {
        if self.close.is_none() {
            self.outbox.push_back(framed);
        }
    }

    pub(super) fn status(&mut self, status: StatusFrame) {
        self.send(&ServerFrame::ServiceStatus(&status));
    }

    fn greet(&mut self) {
        self.status(StatusFrame::of(ServiceStatus::Initiating));
        self.status(StatusFrame::of(ServiceStatus::InProgressConversationsProcessing));
        if self.ear.is_none() {
            self.status(StatusFrame::of(ServiceStatus::Ready));
        }
        let (ledger, user) = (self.state.ledger.clone(), self.operator.user.clone());
        self.followers.spawn(after::last(ledger, user, self.followed.0.clone()));
    }

    /// Carries out what the machine asks for.
    fn carry(&mut self, actions: Vec<Action>, work: &mut Working<Outcome>) {
        for action in actions {
            match action {
                Action::Show(segments) => {
                    self.state.metrics.live.segments.inc_by(segments.len() as u64);
                    self.send(&ServerFrame::Segments(&segments));
                }
                Action::Ended(id) => self.ended(ConversationId::new(id)),
                Action::Flushed => self.flushes.drain(..).for_each(|waiting| {
                    let _ = waiting.send(());
                }),
                Action::Close(code) => {
                    self.close = Some(code);
                    self.is_over = true;
                }
                operation => {
                    let operator = Arc::clone(&self.operator);
                    let usage = self.ear.as_ref().and_then(|ear| self.taken.due(&operation, ear));
                    *work = Some(Box::pin(operator.carry(self.current.clone(), operation, usage)));
                }
            }
        }
    }

    /// An operation is done.
    fn took(&mut self, outcome: Outcome) -> Vec<Action> {
        if let Some((current, resumed)) = outcome.opened {
            let event = if resumed { "resumed" } else { "opened" };
            self.state.metrics.live.conversations.with_label_values(&[event]).inc();
            self.seat.own(&current.id, &self.commands.0);
            let (conversation_id, status) = (current.id.as_str(), "in_progress");
            self.send(&ServerFrame::ConversationSession { conversation_id, status });
            self.current = Some(current);
            if let Some(ear) = &self.ear {
                self.taken.opened(ear);
            }
        }
        if outcome.admitted {
            self.state.metrics.admissions.with_label_values(&["live"]).inc();
            self.next_parked = Instant::now();
        }
        if outcome.superseded {
            self.leave(CloseCode::Superseded);
        }
        self.on(outcome.event)
    }

    fn ended(&mut self, id: ConversationId) {
        self.state.metrics.live.conversations.with_label_values(&["ended"]).inc();
        self.seat.disown();
        if let Some(ended) = self.current.take() {
            self.note_taken(ended);
        }
        self.speakers.clear();
        while self.followers.try_join_next().is_some() {}
        if self.followers.len() < MOST_FOLLOWED {
            let (ledger, account) = (self.state.ledger.clone(), self.account.clone());
            let about = (self.operator.user.clone(), id);
            self.followers.spawn(after::follow(ledger, account, about, self.followed.0.clone()));
        }
    }

    /// Notes what the speech of a conversation took that has ended, by whatever request.
    pub(super) fn note_taken(&self, ended: Current) {
        let Some(usage) = self.ear.as_ref().and_then(|ear| self.taken.so_far(ear)) else { return };
        let operator = Arc::clone(&self.operator);
        tokio::spawn(async move { operator.note(&ended, &usage).await });
    }

    fn command(&mut self, command: Command) -> Vec<Action> {
        match command {
            Command::Admitted(id) => {
                // Its job may be parked, and this session may have the key.
                self.next_parked = Instant::now();
                self.on(Event::AdmittedElsewhere(id.as_str().to_owned()))
            }
            Command::Superseded(id) => {
                if self.current.as_ref().is_some_and(|current| current.id == id) {
                    self.leave(CloseCode::Superseded);
                }
                Vec::new()
            }
            Command::Flush(answer) => {
                self.flushes.push(answer);
                self.flush_until = Some(Instant::now() + FLUSH);
                match &mut self.ear {
                    Some(ear) => {
                        ear.flush();
                        Vec::new()
                    }
                    None => self.flushed(),
                }
            }
        }
    }

    /// Whether more may be read: not while much waits for the client, for the ledger, or to be done.
    fn has_room(&self) -> bool {
        self.outbox.len() < MOST_WAITING
            && self.outbox.iter().map(|(text, _)| text.len()).sum::<usize>() < MOST_BYTES
            && !self.session.is_full()
            && self.todo.len() < BUSY
    }

    fn has_output(&self) -> bool {
        !self.outbox.is_empty() || (self.close.is_some() && !self.close_sent)
    }

    fn output(&mut self) -> Option<Out> {
        match self.outbox.pop_front() {
            Some(framed) => Some(Out::Text(framed)),
            None => {
                self.close_sent = true;
                self.close.map(Out::Close)
            }
        }
    }

    fn is_done(&self, out_is_closed: bool) -> bool {
        let too_late = self.ending.as_ref().is_some_and(|ending| ending.is_over());
        too_late || (out_is_closed && self.is_over)
    }

    /// When the next timer is due. `looks`: nothing is being looked up.
    fn next_wake(&self, listens: bool, looks: bool) -> Instant {
        let machine = self.session.deadline().map(|due| self.began + Duration::from_secs_f64(due.max(0.0)));
        let ending = self.ending.as_ref().map(Ending::next);
        let pause = (!listens).then_some(self.paused_until).filter(|until| *until > Instant::now());
        let flush = self.flush_until;
        let fixed = [self.next_ping, self.last_frame + IDLE];
        let look = looks.then(|| self.next_look());
        let timers = [machine, ending, pause, self.stops_at, flush, look].into_iter().flatten().chain(fixed);
        timers.min().unwrap_or(self.next_ping)
    }

    fn tick(&mut self) -> Vec<Action> {
        let now = Instant::now();
        if now >= self.next_ping {
            self.next_ping = now + PING;
            self.pictures.forget_stalled(now.into_std());
            if self.outbox.len() < BUSY {
                self.send(&ServerFrame::Ping);
            }
        }
        if now >= self.last_frame + IDLE {
            self.last_frame = now;
            self.leave(CloseCode::Idle);
        }
        if self.stops_at.take_if(|at| now >= *at).is_some()
            && let Some(ear) = &mut self.ear
        {
            ear.pause();
        }
        let mut actions = Vec::new();
        if self.flush_until.is_some_and(|until| now >= until) {
            actions.extend(self.flushed());
        }
        if self.ending.as_ref().is_some_and(|ending| ending.is_due(now)) {
            actions.extend(self.finished());
        }
        actions.extend(self.on(Event::Tick));
        actions
    }
}

/// The next event of the recognizer.
async fn next_event(events: &mut Option<Events>) -> Option<speech::Event> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

/// The end of what is under way.
async fn whole<T>(working: &mut Working<T>) -> T {
    match working {
        Some(working) => working.await,
        None => std::future::pending().await,
    }
}
