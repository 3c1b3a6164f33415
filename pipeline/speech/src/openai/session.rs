//! One session's task: works the backlog off, one request at a time, in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep};
use upstream::{Line, Unanswered};

use super::answer::Answer;
use super::backlog::{Backlog, Waiting, Work, gap};
use super::server::{Question, Server};
use crate::fault::Fault;
use crate::health::Answers;
use crate::meters::Counter;
use crate::{Event, Gap, Language, Reason, Status};

/// The wait before an utterance is tried again, doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A server that asks to be left alone for longer is asked again after this: a session hears nothing until then, and no more
/// than a minute of what is said is kept.
const LONGEST_ASKED: Duration = Duration::from_secs(60);
/// How often an open circuit is asked again.
const CIRCUIT_WAIT: Duration = Duration::from_secs(5);
/// An utterance on which the server stumbles so often is given up, so that those behind it get their turn.
const MOST_STUMBLES: u32 = 3;
/// A server that refuses so many utterances in a row refuses all.
const MOST_REFUSALS: u32 = 5;

pub(super) struct Task {
    pub(super) server: Server,
    pub(super) line: Line,
    pub(super) answers: Answers,
    pub(super) requests: Arc<Semaphore>,
    pub(super) backlog: Arc<Backlog>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) counter: Counter,
    pub(super) prompt: String,
    pub(super) language: Language,
    pub(super) channels: u8,
}

/// What became of an utterance.
enum Outcome {
    Answered(Answer),
    GivenUp(Reason),
    /// Nothing more will be recognized.
    Failed(Reason),
    /// The session is gone.
    Abandoned,
}

impl Task {
    /// Runs until everything heard is settled, the engine failed for good, or the session dropped its events.
    pub(super) async fn run(self) {
        let events = self.events.clone();
        tokio::select! {
            () = self.work() => (),
            () = events.closed() => (),
        }
    }

    async fn work(self) {
        // Nothing to connect: the first request will show.
        let mut status = Status::Ready;
        self.send(Event::Status(status)).await;
        let mut refusals = 0;
        while let Some(work) = self.backlog.next().await {
            let waiting = match work {
                Work::Recognize(waiting) => waiting,
                Work::Flushed => {
                    self.send(Event::Flushed).await;
                    continue;
                }
                Work::Lost(gap) => {
                    self.send(Event::Gap(gap)).await;
                    continue;
                }
            };
            match self.recognize(&waiting, &mut status).await {
                Outcome::Answered(answer) => {
                    refusals = 0;
                    self.set(&mut status, Status::Ready).await;
                    self.report(answer, &waiting).await;
                }
                Outcome::GivenUp(reason) => {
                    refusals = if reason == Reason::Rejected { refusals + 1 } else { 0 };
                    self.give_up(gap(&waiting.utterance, reason)).await;
                    if refusals >= MOST_REFUSALS {
                        return self.fail(reason).await;
                    }
                }
                Outcome::Failed(reason) => {
                    self.give_up(gap(&waiting.utterance, reason)).await;
                    return self.fail(reason).await;
                }
                Outcome::Abandoned => return,
            }
        }
    }

    /// Tries until there is an answer or another try cannot help. While no more audio comes, one try is all there is.
    async fn recognize(&self, waiting: &Waiting, status: &mut Status) -> Outcome {
        let (mut stumbles, mut wait) = (0, FIRST_WAIT);
        loop {
            let fault = match self.ask(waiting).await {
                Some(Ok(answer)) => return Outcome::Answered(answer),
                Some(Err(fault)) => fault,
                None => return Outcome::Abandoned,
            };
            let (reason, stumbled, asked) = of(fault);
            let is_open = matches!(fault, Unanswered::CircuitOpen(_));
            match reason {
                Reason::KeyRejected | Reason::OwnKeyRejected => return Outcome::Failed(reason),
                reason if !reason.is_retryable() => return Outcome::GivenUp(reason),
                _ => (),
            }
            stumbles += u32::from(stumbled);
            if stumbles >= MOST_STUMBLES {
                return Outcome::GivenUp(reason);
            }
            self.set(status, Status::Failing(reason)).await;
            let asked = asked.unwrap_or_default().min(LONGEST_ASKED);
            tokio::select! {
                () = sleep(if is_open { asked } else { asked.max(wait) }) => (),
                () = self.backlog.closed() => return Outcome::GivenUp(reason),
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// One call, when it is this session's turn; `None` when there are no turns any more.
    async fn ask(&self, waiting: &Waiting) -> Option<Result<Answer, Unanswered<Fault>>> {
        let _turn = self.requests.acquire().await.ok()?;
        let question = || Question {
            samples: &waiting.utterance.samples,
            language: &self.language,
            prompt: &self.prompt,
        };
        Some(self.answers.call(&self.line, "transcribe", || self.server.ask(question())).await)
    }

    async fn report(&self, answer: Answer, waiting: &Waiting) {
        let length = waiting.utterance.samples.len() as u64;
        let said = answer.said(&waiting.utterance, self.channels, &self.prompt);
        self.counter.billed(length);
        if said.invented {
            self.counter.hallucination();
        }
        if !said.drafts.is_empty() {
            self.counter.recognized(Instant::now().duration_since(waiting.since));
            self.send(Event::Final(said.drafts)).await;
        }
    }

    async fn give_up(&self, gap: Gap) {
        self.counter.gap(&gap);
        self.send(Event::Gap(gap)).await;
    }

    /// Reports the end, then everything that waited as gaps.
    async fn fail(&self, reason: Reason) {
        self.send(Event::Status(Status::Failed(reason))).await;
        while let Some(work) = self.backlog.next().await {
            match work {
                Work::Recognize(waiting) => self.give_up(gap(&waiting.utterance, reason)).await,
                Work::Flushed => self.send(Event::Flushed).await,
                Work::Lost(gap) => self.send(Event::Gap(gap)).await,
            }
        }
    }

    async fn set(&self, status: &mut Status, to: Status) {
        if *status != to {
            *status = to;
            self.send(Event::Status(to)).await;
        }
    }

    /// A session that is gone misses nothing; the task is about to end.
    async fn send(&self, event: Event) {
        let _ = self.events.send(event).await;
    }
}

/// Why, whether over this utterance, and how long to wait.
fn of(unanswered: Unanswered<Fault>) -> (Reason, bool, Option<Duration>) {
    match unanswered {
        // Asking the circuit costs nothing, and another session's probe may close it soon.
        Unanswered::CircuitOpen(wait) => (Reason::Unavailable, false, Some(wait.min(CIRCUIT_WAIT))),
        Unanswered::Failed { fault, open_for } => {
            (fault.reason, fault.stumbled, fault.retry_after.max(open_for))
        }
    }
}
