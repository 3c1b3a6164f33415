//! One session's task: connects when there is something to send, and again when a connection is lost.

use std::time::Duration;

use tokio::time::sleep;
use upstream::Unanswered;

use super::connect::Socket;
use super::socket::{Conversation, End};
use super::task::Task;
use crate::fault::Fault;
use crate::{Event, Reason, Status};

/// The wait before a connection is tried again, doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// Audio over which so many connections were lost is given up, so that what follows gets its turn.
const MOST_LOSSES: u32 = 4;
/// Connections that are tried for a session that has ended.
const LAST_TRIES: u32 = 2;

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
        let mut status = Status::Connecting;
        self.send(Event::Status(status)).await;
        // Connections that failed or were lost, since words last became final.
        let (mut failures, mut losses) = (0_u32, 0);
        loop {
            let mut asked = Duration::ZERO;
            let reason = match self.connect().await {
                Ok(socket) => {
                    self.set(&mut status, Status::Ready).await;
                    let mut conversation = Conversation::new(&self);
                    let end = conversation.hold(socket).await;
                    if conversation.has_settled {
                        (failures, losses) = (0, 0);
                    }
                    match end {
                        End::Finished => return,
                        End::Idle => {
                            let flushed = self.shared.tape.lock().forget();
                            self.flushed(flushed).await;
                            if !self.wait_for_speech().await {
                                return;
                            }
                            continue;
                        }
                        End::Lost(reason) => {
                            losses += 1;
                            if losses > 1 {
                                self.set(&mut status, Status::Failing(reason)).await;
                            }
                            if losses >= MOST_LOSSES {
                                losses = 0;
                                self.give_up(false, reason).await;
                            }
                            reason
                        }
                    }
                }
                Err(Fault { reason: reason @ (Reason::KeyRejected | Reason::Rejected), .. }) => {
                    return self.fail(reason).await;
                }
                Err(fault) => {
                    self.set(&mut status, Status::Failing(fault.reason)).await;
                    asked = fault.retry_after.unwrap_or_default();
                    fault.reason
                }
            };
            self.shared.tape.lock().rewind();
            self.report_lost().await;
            failures = failures.saturating_add(1);
            if self.shared.tape.lock().closed && failures >= LAST_TRIES {
                return self.give_up(true, reason).await;
            }
            let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures - 1));
            sleep(wait.max(asked).min(LONGEST_WAIT)).await;
        }
    }

    async fn connect(&self) -> Result<Socket, Fault> {
        let socket =
            self.answers.call(&self.line, "speech connect", || self.address.connect(&self.url)).await;
        socket.map_err(|unanswered| match unanswered {
            Unanswered::CircuitOpen(wait) => {
                Fault { retry_after: Some(wait), ..Fault::lasting(Reason::Unavailable) }
            }
            Unanswered::Failed { fault, .. } => fault,
        })
    }

    /// Waits without a connection; false when the session has ended and nothing is left.
    async fn wait_for_speech(&self) -> bool {
        loop {
            let (flushed, has_unsent, closed) = {
                let mut tape = self.shared.tape.lock();
                (tape.settle(0).flushed, tape.has_unsent(), tape.closed)
            };
            self.flushed(flushed).await;
            if has_unsent || closed {
                return has_unsent;
            }
            self.shared.changed.notified().await;
        }
    }

    /// Reports the end, then everything that is heard as gaps.
    async fn fail(&self, reason: Reason) {
        self.send(Event::Status(Status::Failed(reason))).await;
        loop {
            self.give_up(true, reason).await;
            if self.shared.tape.lock().closed {
                return;
            }
            self.shared.changed.notified().await;
        }
    }

    async fn give_up(&self, everything: bool, reason: Reason) {
        let flushed = self.shared.tape.lock().give_up(everything, reason);
        self.report_lost().await;
        self.flushed(flushed).await;
    }

    async fn set(&self, status: &mut Status, to: Status) {
        if *status != to {
            *status = to;
            self.send(Event::Status(to)).await;
        }
    }
}
