//! The store: compare, set, effects, and the answer that may be lost on its way back.

use job::{Effect, State, Step};

use crate::rules;
use crate::sim::{Actor, Run, Sim, Standing, Task, Want, Write};

impl Sim {
    /// Stores what a verb decided; the first broken rule ends the run.
    pub(crate) fn store(&mut self, write: Write) -> Result<(), String> {
        let (actor, row, want) = (write.actor, write.row, write.want);
        // A process that died may have got its commit through, without ever hearing of it.
        let alive = self.lives(actor);
        if !alive && !self.chances(30) {
            return Ok(());
        }
        if self.database_away_until > self.now {
            self.unanswered(actor, row, want);
            return Ok(());
        }
        if self.config.compare_and_set && self.rows[row].version != write.version {
            self.seen.lost_races += 1;
            self.say(actor, row, want);
            return Ok(());
        }
        self.account(&write);
        rules::check(&self.rows[row], &write, &self.policy)
            .map_err(|breach| format!("{breach}\n  before {:?}\n  write {write:?}", self.rows[row].job))?;
        self.note(|| format!("job {row} {want:?} by {actor:?} -> {:?}", write.step.job.state));
        self.keep(row, &write.step);
        self.agree(row)?;
        if alive && !(self.troubled() && self.chances(2)) {
            self.tell(&write);
        } else if alive {
            self.unanswered(actor, row, want);
        }
        Ok(())
    }

    /// Applies a granted step: job, task, conversation.
    pub(crate) fn keep(&mut self, row: usize, step: &Step) {
        let now = self.clock();
        let was_claimed = matches!(step.job.state, State::Leased(_));
        let kept = &mut self.rows[row];
        let generation = kept.job.generation;
        kept.due = step.job.reconcile_after_at(&self.policy);
        kept.version += 1;
        kept.job = step.job.clone();
        self.seen.stores += 1;
        if was_claimed {
            self.tasks.retain(|task| !(task.row == row && task.generation == generation && task.at <= now));
        }
        for effect in &step.effects {
            match effect {
                Effect::Enqueue { at } => {
                    self.tasks.push(Task { row, generation: step.job.generation, at: *at });
                }
                Effect::CompleteConversation { .. } => self.stand(row, Standing::Completed),
                Effect::FailConversation { .. } => {
                    self.seen.dead_letters += 1;
                    self.stand(row, Standing::Failed);
                }
                Effect::ReopenConversation => self.stand(row, Standing::Processing),
                _ => {}
            }
        }
    }

    /// The newest revision's job and its conversation say the same.
    pub(crate) fn agree(&self, row: usize) -> Result<(), String> {
        let kept = &self.rows[row];
        let conversation = &self.conversations[kept.conversation];
        if conversation.newest != row || conversation.standing == Standing::Gone {
            return match conversation.standing {
                Standing::Gone if !kept.job.state.is_terminal() => {
                    Err(format!("job {row} lives on without words"))
                }
                _ => Ok(()),
            };
        }
        let expected = match kept.job.state {
            State::Completed { .. } => Standing::Completed,
            State::DeadLetter { .. } => Standing::Failed,
            _ => Standing::Processing,
        };
        if conversation.standing == expected {
            return Ok(());
        }
        Err(format!("job {row} is {:?}, its conversation {:?}", kept.job.state, conversation.standing))
    }

    /// The simulation's own account of what a verb means.
    fn account(&mut self, write: &Write) {
        let was_leased = matches!(self.rows[write.row].job.state, State::Leased(_));
        let leased = matches!(write.step.job.state, State::Leased(_));
        let epoch = self.rows[write.row].job.epoch;
        let books = &mut self.rows[write.row].books;
        let crashed = was_leased && matches!(write.want, Want::Claim | Want::Reconcile);
        books.crashes += u32::from(crashed);
        if crashed {
            books.crashed = Some(epoch);
        }
        self.seen.crashes += u64::from(crashed);
        match write.want {
            Want::Claim if leased => books.runs += 1,
            Want::Prove => {
                books.crashes -= 1;
                books.crashed = None;
                self.seen.proofs += 1;
            }
            Want::Fail(_) => {
                books.attempts += 1;
                self.seen.failures += 1;
            }
            Want::Release { .. } => {
                books.runs -= 1;
                self.seen.releases += 1;
            }
            Want::Complete => {
                books.completions += 1;
                self.seen.completions += 1;
            }
            Want::Park => {
                books.requires_keys = true;
            }
            _ => {}
        }
        if matches!(write.step.job.state, State::BlockedByok) {
            books.parked_at.get_or_insert(write.decided);
            self.seen.parked += 1;
        }
        self.seen.poisoned += u64::from(books.crashes >= self.policy.max_crashes);
    }

    /// After the commit the actor is notified.
    fn tell(&mut self, write: &Write) {
        let leased = matches!(write.step.job.state, State::Leased(_));
        match (write.actor, write.want) {
            (Actor::Taker { process, keys, .. }, Want::Claim) if leased => {
                self.claims += 1;
                self.rows[write.row].books.claim = self.claims;
                let run = Run { row: write.row, epoch: write.step.job.epoch, claim: self.claims, keys };
                self.begin(process, run);
            }
            (
                Actor::Run { process, run, .. },
                Want::Complete | Want::Fail(_) | Want::Release { .. } | Want::Park,
            ) => {
                self.rows[write.row].books.claim = 0;
                self.end(process, run);
            }
            (Actor::Run { process, run, .. }, Want::Prove) => self.end(process, run),
            (Actor::Run { .. }, _) => {}
            _ => self.rows[write.row].books.claim = 0,
        }
    }

    fn stand(&mut self, row: usize, standing: Standing) {
        let conversation = &mut self.conversations[self.rows[row].conversation];
        if conversation.newest == row && conversation.standing != Standing::Gone {
            conversation.standing = standing;
        }
    }
}

pub(crate) fn enqueues(step: &Step) -> bool {
    step.effects.iter().any(|effect| matches!(effect, Effect::Enqueue { .. }))
}
