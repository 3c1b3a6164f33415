//! What processes do: take tasks, renew, work, look.

use chrono::Duration;
use job::{Command, FailureCode, Refusal, State, WorkerId, decide};
use rand::RngExt;

use crate::sim::{Actor, Event, Millis, Run, Sim, Want, Write};

/// Runs at once per process.
const SLOTS: usize = 3;
/// One conversation in so many kills every worker that runs it, while the trouble lasts.
const POISON: usize = 19;
/// One in so many fails whenever it is run.
const HOPELESS: usize = 17;
const CODES: [FailureCode; 4] =
    [FailureCode::ModelTimeout, FailureCode::ModelMalformed, FailureCode::NoContent, FailureCode::Internal];

impl Sim {
    /// One event. What a frozen process was to do happens when it thaws, late and unsuspecting.
    pub(crate) fn act(&mut self, event: Event) -> Result<(), String> {
        if let Some(process) = process_of(&event) {
            let (frozen, dead) = (self.processes[process].frozen_until, self.processes[process].dead_until);
            let blocked = if matches!(event, Event::Store(_)) { frozen } else { frozen.max(dead) };
            if blocked > self.now {
                self.at(blocked, event);
                return Ok(());
            }
        }
        match event {
            Event::Poll(process) => self.poll(process),
            Event::Beat(process) => self.beat(process),
            Event::Look(process) => self.look(process, true),
            Event::Pass(process) => self.look(process, false),
            Event::Say { actor, row, want } => self.say(actor, row, want),
            Event::Store(write) => return self.store(*write),
            Event::Client => return self.client(),
            Event::Operator => return self.operator(),
            Event::Trouble => self.trouble(),
            Event::Die { process, life, back_after } => {
                if self.processes[process].life == life {
                    self.kill(process, back_after);
                }
            }
        }
        Ok(())
    }

    /// Takes due tasks into free slots.
    fn poll(&mut self, process: usize) {
        self.later(500..1_500, Event::Poll(process));
        if self.database_away_until > self.now || self.queue_away_until > self.now {
            return;
        }
        let free = SLOTS.saturating_sub(self.processes[process].runs.len());
        let clock = self.clock();
        let mut due: Vec<usize> =
            (0..self.tasks.len()).filter(|&task| self.tasks[task].at <= clock).collect();
        due.sort_by_key(|&task| (self.tasks[task].at, task));
        let life = self.processes[process].life;
        // Sometimes a session with the person's keys asks: nothing in the product does yet.
        let keys = self.troubled() && self.chances(3);
        for row in due.into_iter().take(free).map(|task| self.tasks[task].row).collect::<Vec<_>>() {
            let actor = Actor::Taker { process, life, keys };
            self.say(actor, row, Want::Claim);
        }
        if keys && free > 0 {
            let parked = self.rows.iter().position(|row| matches!(row.job.state, State::BlockedByok));
            if let Some(row) = parked {
                self.say(Actor::Taker { process, life, keys }, row, Want::Claim);
            }
        }
    }

    /// Renews all leases of a process.
    fn beat(&mut self, process: usize) {
        self.later(8_000..12_000, Event::Beat(process));
        let life = self.processes[process].life;
        for run in self.processes[process].runs.clone() {
            self.say(Actor::Run { process, life, run }, run.row, Want::Renew);
        }
    }

    /// Says `Reconcile` to what is due: expired leases often, everything now and then.
    fn look(&mut self, process: usize, leases: bool) {
        match leases {
            true => self.later(4_000..6_000, Event::Look(process)),
            false => self.later(250_000..350_000, Event::Pass(process)),
        }
        let (clock, life) = (self.clock(), self.processes[process].life);
        let due = |row: &crate::sim::Row| {
            row.due.is_some_and(|due| due <= clock) && (!leases || matches!(row.job.state, State::Leased(_)))
        };
        let rows: Vec<usize> = (0..self.rows.len()).filter(|&row| due(&self.rows[row])).collect();
        for row in rows {
            self.say(Actor::Watcher { process, life }, row, Want::Reconcile);
        }
    }

    /// Reads and decides; the store comes later. A refusal is an answer.
    pub(crate) fn say(&mut self, actor: Actor, row: usize, want: Want) {
        if !self.lives(actor) {
            return;
        }
        if self.database_away_until > self.now {
            return self.unanswered(actor, row, want);
        }
        let clock = self.clock();
        let read = &self.rows[row];
        let task = self.tasks.iter().find(|task| task.row == row && task.at <= clock);
        let generation = match (want, task) {
            (Want::Claim, Some(task)) => task.generation,
            _ => read.job.generation,
        };
        let waiting = self
            .tasks
            .iter()
            .any(|task| task.row == row && task.generation == read.job.generation && task.at <= clock);
        let command = command(actor, want, generation, waiting);
        let (version, job) = (read.version, read.job.clone());
        match decide(&job, command, clock, &self.policy) {
            Ok(step) => {
                let write = Write { row, version, step, want, actor, generation, decided: clock };
                let slow = if self.troubled() && self.chances(3) { 1..20_000 } else { 1..300 };
                self.later(slow, Event::Store(Box::new(write)));
            }
            Err(refusal) => self.refused(actor, row, want, refusal, generation),
        }
    }

    fn refused(
        &mut self,
        actor: Actor,
        row: usize,
        want: Want,
        refusal: Refusal,
        generation: job::Generation,
    ) {
        match actor {
            Actor::Taker { .. } => {
                if matches!(refusal, Refusal::StaleGeneration | Refusal::UnknownGeneration) {
                    self.seen.stale_tasks += 1;
                }
                let clock = self.clock();
                match refusal {
                    Refusal::NotYet { until } => {
                        let moved = self.tasks.iter_mut().filter(|task| task.row == row && task.at <= clock);
                        moved.for_each(|task| task.at = until);
                    }
                    _ => self.tasks.retain(|task| {
                        !(task.row == row && task.generation == generation && task.at <= clock)
                    }),
                }
            }
            Actor::Run { process, life, run } => match refusal {
                Refusal::RunLimit => {
                    self.seen.run_limits += 1;
                    self.say(Actor::Run { process, life, run }, row, Want::Fail(FailureCode::RunTimeout));
                }
                Refusal::TooLate => {
                    self.say(
                        Actor::Run { process, life, run },
                        row,
                        Want::Fail(FailureCode::ModelUnavailable),
                    );
                }
                _ if want == Want::Prove => self.end(process, run),
                _ => {
                    self.seen.zombies_refused += u64::from(want != Want::Renew);
                    self.say(Actor::Run { process, life, run }, row, Want::Prove);
                }
            },
            Actor::Watcher { .. } => {}
        }
    }

    /// A run begins: how long it takes and how it ends is drawn now, and applies to the holder that it believes to be then.
    pub(crate) fn begin(&mut self, process: usize, run: Run) {
        self.processes[process].runs.push(run);
        let actor = Actor::Run { process, life: self.processes[process].life, run };
        if self.troubled() && run.row % POISON == POISON - 1 {
            let life = self.processes[process].life;
            self.later(50..5_000, Event::Die { process, life, back_after: 500 });
            return;
        }
        let want = match self.chance.random_range(0..100) {
            _ if run.row % HOPELESS == HOPELESS - 1 => Want::Fail(FailureCode::ModelTimeout),
            0..70 => Want::Complete,
            70..90 => Want::Fail(CODES[self.chance.random_range(0..CODES.len())]),
            90..94 => Want::Release { delay: 0 },
            94..97 => Want::Release { delay: self.chance.random_range(1..60_000) },
            _ if run.keys => Want::Park,
            _ => Want::Complete,
        };
        let long = self.chances(3);
        let length: std::ops::Range<Millis> = if long { 30_000..1_800_000 } else { 50..20_000 };
        let wait = self.chance.random_range(length);
        self.at(self.now + wait, Event::Say { actor, row: run.row, want });
    }

    pub(crate) fn end(&mut self, process: usize, run: Run) {
        self.processes[process].runs.retain(|held| *held != run);
    }

    /// No answer came: a run repeats its operation, the others come back by themselves.
    pub(crate) fn unanswered(&mut self, actor: Actor, row: usize, want: Want) {
        if matches!(actor, Actor::Run { .. }) && want != Want::Renew {
            self.later(100..5_000, Event::Say { actor, row, want });
        }
    }

    pub(crate) fn lives(&self, actor: Actor) -> bool {
        match actor {
            Actor::Run { process, life, run } => {
                let process = &self.processes[process];
                process.life == life && process.runs.contains(&run)
            }
            Actor::Taker { process, life, .. } | Actor::Watcher { process, life } => {
                self.processes[process].life == life
            }
        }
    }
}

fn process_of(event: &Event) -> Option<usize> {
    let of = |actor: Actor| match actor {
        Actor::Run { process, .. } | Actor::Taker { process, .. } | Actor::Watcher { process, .. } => process,
    };
    match event {
        Event::Poll(process) | Event::Beat(process) | Event::Look(process) | Event::Pass(process) => {
            Some(*process)
        }
        Event::Say { actor, .. } => Some(of(*actor)),
        Event::Store(write) => Some(of(write.actor)),
        Event::Client | Event::Operator | Event::Trouble | Event::Die { .. } => None,
    }
}

fn command(actor: Actor, want: Want, generation: job::Generation, task_waiting: bool) -> Command {
    let epoch = match actor {
        Actor::Run { run, .. } => run.epoch,
        _ => job::Epoch(0),
    };
    match (want, actor) {
        (Want::Claim, Actor::Taker { process, keys, .. }) => {
            Command::Claim { generation, worker: WorkerId(format!("p{process}")), keys }
        }
        (Want::Claim | Want::Reconcile, _) => Command::Reconcile { task_waiting },
        (Want::Renew, _) => Command::Renew { epoch },
        (Want::Prove, _) => Command::ProveAlive { epoch },
        (Want::Complete, _) => Command::Complete { epoch, outcome: job::Outcome::Kept },
        (Want::Fail(code), _) => Command::Fail { epoch, code, retry_after: None, jitter_permille: 0 },
        (Want::Release { delay }, _) => Command::Release { epoch, delay: Duration::milliseconds(delay) },
        (Want::Park, _) => Command::Park { epoch },
    }
}
