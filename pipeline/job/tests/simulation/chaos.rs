//! What breaks.

use chrono::Duration;
use job::Generation;
use rand::RngExt;

use crate::sim::{Actor, Event, PROCESSES, Sim, Task, Want};

impl Sim {
    /// One piece of bad luck, while the trouble lasts.
    pub(crate) fn trouble(&mut self) {
        if !self.troubled() {
            return;
        }
        self.later(1_000..15_000, Event::Trouble);
        let process = self.chance.random_range(0..PROCESSES);
        let wait = self.chance.random_range(500..20_000);
        match self.chance.random_range(0..11) {
            0 | 1 => self.kill(process, wait),
            2 => self.stop_gently(process, wait),
            3 | 4 => {
                let long = self.chance.random_range(1_000..90_000);
                self.note(|| format!("process {process} freezes for {long} ms"));
                self.processes[process].frozen_until = self.now + long;
            }
            5 => self.database_away_until = self.now + wait / 2,
            6 => self.queue_away_until = self.now + wait,
            7 => {
                let chance = &mut self.chance;
                self.tasks.retain(|_| chance.random_range(0..2) == 0);
            }
            8 => self.double_tasks(),
            9 => self.clock_behind = wait,
            _ => {
                let late = Duration::milliseconds(wait * 10);
                self.tasks.iter_mut().for_each(|task| task.at += late);
            }
        }
    }

    /// The process is gone, with everything that it had under way.
    pub(crate) fn kill(&mut self, process: usize, back_after: i64) {
        self.note(|| format!("process {process} dies"));
        let dead = &mut self.processes[process];
        dead.life += 1;
        dead.runs.clear();
        dead.frozen_until = 0;
        dead.dead_until = self.now + back_after;
    }

    /// SIGTERM: what runs is given back, and then the process is gone.
    fn stop_gently(&mut self, process: usize, back_after: i64) {
        let life = self.processes[process].life;
        for run in self.processes[process].runs.clone() {
            let actor = Actor::Run { process, life, run };
            self.say(actor, run.row, Want::Release { delay: 0 });
        }
        self.at(self.now + 400, Event::Die { process, life, back_after });
    }

    /// Tasks of this dispatch, of an older and of a newer one.
    fn double_tasks(&mut self) {
        let at = self.clock();
        for row in 0..self.rows.len() {
            let generation = self.rows[row].job.generation;
            let of = [generation, Generation(generation.0 - 1), generation.next()];
            let drawn = of[self.chance.random_range(0..of.len())];
            if self.chances(30) {
                self.tasks.push(Task { row, generation: drawn, at });
            }
        }
    }
}
