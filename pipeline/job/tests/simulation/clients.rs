//! What clients and operators do, each in one transaction under the locks that the ledger takes; and the end.

use chrono::Duration;
use job::{Admission, Command, Effect, FailureCode, Job, JobId, Origin, Outcome, Refusal, State, decide};
use rand::RngExt;

use crate::books::Books;
use crate::rules;
use crate::sim::{Conversation, Event, Row, Sim, Standing, TROUBLE};

impl Sim {
    /// A client talks, finalizes again, deletes, or is marked.
    pub(crate) fn client(&mut self) -> Result<(), String> {
        if self.now > TROUBLE * 9 / 10 {
            return Ok(());
        }
        self.later(500..25_000, Event::Client);
        if self.database_away_until > self.now {
            return Ok(());
        }
        match self.chance.random_range(0..100) {
            0..70 => {
                let user = self.chance.random_range(0..self.users.len());
                self.conversations.push(Conversation {
                    user,
                    standing: Standing::Processing,
                    newest: 0,
                    revisions: 0,
                });
                self.admit(self.conversations.len() - 1)
            }
            70..82 => self.finalize_again(),
            82..97 => self.delete(),
            _ => self.mark(),
        }
    }

    /// An operator replays a dead letter, or settles one; or ends the wait of a live job, or the job.
    pub(crate) fn operator(&mut self) -> Result<(), String> {
        if !self.troubled() {
            return Ok(());
        }
        self.later(10_000..60_000, Event::Operator);
        if self.chances(40) {
            return self.order();
        }
        let dead: Vec<usize> = (0..self.rows.len())
            .filter(|&row| matches!(self.rows[row].job.state, State::DeadLetter { .. }))
            .collect();
        if dead.is_empty() || self.database_away_until > self.now {
            return Ok(());
        }
        let row = dead[self.chance.random_range(0..dead.len())];
        let conversation = &self.conversations[self.rows[row].conversation];
        let (superseded, conversation_gone) =
            (conversation.newest != row, conversation.standing == Standing::Gone);
        let requires_keys = self.users[conversation.user];
        if self.chances(20) {
            return self.at_once(row, Command::Discard).map(drop);
        }
        let replay = Command::Replay { superseded, conversation_gone, requires_keys };
        let granted = self.at_once(row, replay)?;
        if granted == (superseded || conversation_gone) {
            return Err(format!(
                "job {row}: a replay of what is superseded or gone must be refused, another granted"
            ));
        }
        self.seen.replays += u64::from(granted);
        Ok(())
    }

    /// Run now, or cancel: granted exactly where the job waits for a moment, or lives.
    fn order(&mut self) -> Result<(), String> {
        let live: Vec<usize> =
            (0..self.rows.len()).filter(|&row| !self.rows[row].job.state.is_terminal()).collect();
        if live.is_empty() || self.database_away_until > self.now {
            return Ok(());
        }
        let (row, now) = (live[self.chance.random_range(0..live.len())], self.clock());
        if self.chances(15) {
            if !self.at_once(row, Command::Cancel)? {
                return Err(format!("job {row}: a live job can be cancelled"));
            }
            self.seen.cancelled += 1;
            return Ok(());
        }
        let waits = matches!(self.rows[row].job.state, State::Queued { ready_at } if ready_at > now);
        if self.at_once(row, Command::RunNow)? != waits {
            return Err(format!("job {row}: a job that waits for a moment is hurried, and no other"));
        }
        self.seen.hurried += u64::from(waits);
        Ok(())
    }

    fn admit(&mut self, conversation: usize) -> Result<(), String> {
        let row = self.rows.len();
        let owner = &mut self.conversations[conversation];
        owner.revisions += 1;
        (owner.newest, owner.standing) = (row, Standing::Processing);
        let requires_keys = self.users[owner.user];
        let id = JobId::derive("u", &conversation.to_string(), owner.revisions);
        let origin = if row.is_multiple_of(2) { Origin::Finalize } else { Origin::Create };
        let now = self.clock();
        let step = Job::admit(Admission { id, origin, force_process: false, requires_keys }, now);
        let enqueued = step.effects.iter().any(|effect| matches!(effect, Effect::Enqueue { .. }));
        if enqueued == requires_keys {
            return Err("broken: an admission enqueues, and one that requires keys does not".to_owned());
        }
        let books = Books { requires_keys, parked_at: requires_keys.then_some(now), ..Books::default() };
        self.rows.push(Row { job: step.job.clone(), version: 0, due: None, conversation, books });
        rules::due(&step.job, &self.rows[row].books, &self.policy)?;
        rules::owner(&step.job, &self.policy)?;
        self.keep(row, &step);
        self.agree(row)
    }

    fn finalize_again(&mut self) -> Result<(), String> {
        let failed = self.conversations.iter().position(|talk| talk.standing == Standing::Failed);
        match failed {
            Some(conversation) => {
                let newest = self.conversations[conversation].newest;
                if !self.rows[newest].job.state.is_terminal() {
                    return Err(format!("job {newest}: a failed conversation has a live job"));
                }
                self.admit(conversation)
            }
            None => Ok(()),
        }
    }

    fn delete(&mut self) -> Result<(), String> {
        if self.conversations.is_empty() {
            return Ok(());
        }
        let conversation = self.chance.random_range(0..self.conversations.len());
        let row = self.conversations[conversation].newest;
        let completed = matches!(self.rows[row].job.state, State::Completed { .. });
        self.conversations[conversation].standing = Standing::Gone;
        let withdrawn = self.at_once(row, Command::Withdraw)?;
        if completed == withdrawn {
            return Err(format!("job {row}: every job but a completed one is withdrawn"));
        }
        self.seen.withdrawals += u64::from(withdrawn);
        Ok(())
    }

    fn mark(&mut self) -> Result<(), String> {
        let user = self.chance.random_range(0..self.users.len());
        self.users[user] = true;
        for row in 0..self.rows.len() {
            if self.conversations[self.rows[row].conversation].user == user
                && !self.rows[row].job.state.is_terminal()
                && !self.at_once(row, Command::RequireKeys)?
            {
                return Err(format!("job {row}: a live job of a marked user requires keys"));
            }
        }
        Ok(())
    }

    /// A verb whose read and store nothing can come between. `false`: refused.
    fn at_once(&mut self, row: usize, command: Command) -> Result<bool, String> {
        let now = self.clock();
        let old = self.rows[row].job.clone();
        let Ok(step) = decide(&old, command.clone(), now, &self.policy) else { return Ok(false) };
        let (new, books) = (&step.job, &mut self.rows[row].books);
        match &command {
            Command::Withdraw | Command::Cancel => books.claim = 0,
            Command::RequireKeys => books.requires_keys = true,
            Command::Replay { requires_keys, .. } => {
                let required = books.requires_keys || *requires_keys;
                *books =
                    Books { requires_keys: required, completions: books.completions, ..Books::default() };
                if new.generation != old.generation.next() || new.last_code.is_some() {
                    return Err(format!("job {row}: a replay begins anew: {new:?}"));
                }
            }
            _ => {}
        }
        if matches!(new.state, State::BlockedByok) {
            books.parked_at.get_or_insert(now);
        }
        let same = new.requires_keys == books.requires_keys
            && (new.attempts, new.crashes, new.runs) == (books.attempts, books.crashes, books.runs);
        // A dead letter has no claim to end.
        let raised = matches!(command, Command::Withdraw | Command::Cancel) && !old.state.is_terminal();
        if !same || raised != (new.epoch > old.epoch) {
            return Err(format!("broken by {command:?}: {old:?} became {new:?}"));
        }
        if new.requires_keys && matches!(new.state, State::Queued { .. }) {
            return Err(format!("broken by {command:?}: a job that requires keys queues"));
        }
        rules::due(new, books, &self.policy)?;
        rules::numbers(&old, new)?;
        rules::owner(new, &self.policy)?;
        self.note(|| format!("job {row} {command:?} -> {:?}", new.state));
        self.keep(row, &step);
        self.agree(row)?;
        Ok(true)
    }

    /// Parked jobs that get no keys are given up after their deadline, and not before.
    pub(crate) fn abandon_parked(&mut self) -> Result<(), String> {
        for row in 0..self.rows.len() {
            let kept = &self.rows[row];
            if !matches!(kept.job.state, State::BlockedByok) {
                continue;
            }
            let since = kept.books.parked_at.ok_or("a parked job was never parked")?;
            let deadline = since + self.policy.byok_deadline;
            let look =
                |moment| decide(&kept.job, Command::Reconcile { task_waiting: false }, moment, &self.policy);
            if look(deadline - Duration::milliseconds(1)) != Err(Refusal::NotDue) {
                return Err(format!("job {row} is given up before its deadline"));
            }
            let step =
                look(deadline).map_err(|refusal| format!("job {row} is parked for ever: {refusal:?}"))?;
            if step.job.state != (State::DeadLetter { code: FailureCode::ByokSessionAbandoned }) {
                return Err(format!("job {row} ends as {:?}", step.job.state));
            }
            self.seen.abandoned += 1;
            self.keep(row, &step);
        }
        self.check_the_end()
    }

    /// Everything is at rest: every revision once, every conversation with its job.
    pub(crate) fn check_the_end(&self) -> Result<(), String> {
        for (index, row) in self.rows.iter().enumerate() {
            self.agree(index)?;
            let kept = matches!(row.job.state, State::Completed { outcome: Outcome::Kept });
            if row.books.completions != u32::from(kept) {
                return Err(format!(
                    "job {index}: {} completions, {:?}",
                    row.books.completions, row.job.state
                ));
            }
        }
        Ok(())
    }
}
