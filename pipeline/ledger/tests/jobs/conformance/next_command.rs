//! The next random command on a job.

use super::*;

/// Kinds of commands by number; the rest have one index each.
const CLAIM: usize = 0;
const RECONCILE: usize = 1;
const REPLAY: usize = 7;
const RUN_NOW: usize = 9;
const CANCEL: usize = 10;
/// A retryable failure.
const RETRYABLE: &[FailureCode] = &[FailureCode::ModelTimeout];

impl RandomRun {
    pub(super) fn next_command(&mut self, index: usize, which: usize) -> Command {
        let random = &mut self.random;
        let conversation = &self.conversations[index];
        let job = &conversation.jobs[which].job;
        let epoch = match job.crashed_epoch {
            Some(crashed) if random.percent(20) => crashed,
            _ => Epoch(job.epoch.0 + random.offset()),
        };
        // Mostly what may be granted in this state, and sometimes anything.
        let kind = match &job.state {
            _ if random.percent(30) => *random.one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, RUN_NOW]),
            // Operators' commands are rare, as they end what other commands could meet.
            _ if random.percent(2) => CANCEL,
            State::Queued { .. } => *random.one_of(&[CLAIM, CLAIM, CLAIM, RECONCILE, RUN_NOW]),
            // Five crashes in a row are rare, so a job with two goes on crashing.
            State::Leased(_) if job.crashes >= 2 => *random.one_of(&[CLAIM, CLAIM, RECONCILE, RECONCILE, 2]),
            State::Leased(_) => *random.one_of(&[CLAIM, CLAIM, RECONCILE, 2, 3, 4, 5, 5, 6]),
            State::BlockedByok => *random.one_of(&[CLAIM, CLAIM, RECONCILE]),
            State::DeadLetter { .. } => *random.one_of(&[REPLAY, REPLAY, 8]),
            State::Completed { .. } => *random.one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, RUN_NOW, CANCEL]),
        };
        let codes = if random.percent(10) { FailureCode::ALL } else { RETRYABLE };
        match kind {
            // A process with keys claims the current dispatch of jobs that require them.
            CLAIM if job.requires_keys && random.percent(70) => {
                Command::Claim { generation: job.generation, worker: worker("w"), keys: true }
            }
            CLAIM => Command::Claim {
                generation: job::Generation(job.generation.0 + random.offset()),
                worker: worker("w"),
                keys: false,
            },
            // Whether a task waits is read when the command is applied.
            RECONCILE => Command::Reconcile { task_waiting: false },
            2 => Command::Renew { epoch },
            3 => Command::Release { epoch, delay: Duration::seconds(*random.one_of(&[-1, 0, 20, 600])) },
            4 => Command::Complete { epoch, outcome: *random.one_of(&[Outcome::Kept, Outcome::Discarded]) },
            5 => Command::Fail {
                epoch,
                code: *random.one_of(codes),
                retry_after: random.percent(30).then(|| Duration::seconds(90)),
                jitter_permille: random.below(800) as i32 - 400,
            },
            6 => Command::Park { epoch },
            REPLAY => Command::Replay {
                superseded: which + 1 < conversation.jobs.len(),
                conversation_gone: conversation.status.is_none(),
                requires_keys: self.users[conversation.user].requires_keys,
            },
            RUN_NOW => Command::RunNow,
            CANCEL => Command::Cancel,
            _ => Command::Discard,
        }
    }
}
