//! Which command is said next of a job.

use super::*;

/// Kinds of commands by number; the rest have one index each.
const CLAIM: usize = 0;
const RECONCILE: usize = 1;
const REPLAY: usize = 7;
const RUN_NOW: usize = 9;
const CANCEL: usize = 10;
/// A failure that another run may not meet.
const PASSING: &[FailureCode] = &[FailureCode::ModelTimeout];

impl Walk {
    pub(super) fn command(&mut self, index: usize, which: usize) -> Command {
        let chance = &mut self.chance;
        let talk = &self.talks[index];
        let job = &talk.jobs[which].job;
        let epoch = match job.crashed_epoch {
            Some(crashed) if chance.percent(20) => crashed,
            _ => Epoch(job.epoch.0 + chance.offset()),
        };
        // Mostly what may be granted in this state, and sometimes anything.
        let kind = match &job.state {
            _ if chance.percent(30) => *chance.one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, RUN_NOW]),
            // What an operator orders is rare, and ends what other commands would meet.
            _ if chance.percent(2) => CANCEL,
            State::Queued { .. } => *chance.one_of(&[CLAIM, CLAIM, CLAIM, RECONCILE, RUN_NOW]),
            // Five crashes in a row are rare: a job that had some goes on crashing.
            State::Leased(_) if job.crashes >= 2 => *chance.one_of(&[CLAIM, CLAIM, RECONCILE, RECONCILE, 2]),
            State::Leased(_) => *chance.one_of(&[CLAIM, CLAIM, RECONCILE, 2, 3, 4, 5, 5, 6]),
            State::BlockedByok => *chance.one_of(&[CLAIM, CLAIM, RECONCILE]),
            State::DeadLetter { .. } => *chance.one_of(&[REPLAY, REPLAY, 8]),
            State::Completed { .. } => *chance.one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, RUN_NOW, CANCEL]),
        };
        let codes = if chance.percent(10) { FailureCode::ALL } else { PASSING };
        match kind {
            // A process with keys claims the present dispatch, whichever that is, of jobs that require them.
            CLAIM if job.requires_keys && chance.percent(70) => {
                Command::Claim { generation: job.generation, worker: worker("w"), keys: true }
            }
            CLAIM => Command::Claim {
                generation: job::Generation(job.generation.0 + chance.offset()),
                worker: worker("w"),
                keys: false,
            },
            // Whether a task waits is read when the command is applied.
            RECONCILE => Command::Reconcile { task_waiting: false },
            2 => Command::Renew { epoch },
            3 => Command::Release { epoch, delay: Duration::seconds(*chance.one_of(&[-1, 0, 20, 600])) },
            4 => Command::Complete { epoch, outcome: *chance.one_of(&[Outcome::Kept, Outcome::Discarded]) },
            5 => Command::Fail {
                epoch,
                code: *chance.one_of(codes),
                retry_after: chance.percent(30).then(|| Duration::seconds(90)),
                jitter_permille: chance.below(800) as i32 - 400,
            },
            6 => Command::Park { epoch },
            REPLAY => Command::Replay {
                superseded: which + 1 < talk.jobs.len(),
                conversation_gone: talk.status.is_none(),
                requires_keys: self.people[talk.user].marked,
            },
            RUN_NOW => Command::RunNow,
            CANCEL => Command::Cancel,
            _ => Command::Discard,
        }
    }
}
