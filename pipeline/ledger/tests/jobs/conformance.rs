//! The ledger stores what `job::decide` decides, and nothing else: thousands of random commands go through the public
//! operations, an expected copy is changed by the pure state machine alone, and both must be equal after each
//! command.

use chrono::Duration;
use job::{
    Admission, Command, Effect, Epoch, FailureCode, Job, JobId, Origin, Outcome, Policy, Queue, Refusal,
    State, Step, Timestamp, WorkerId, decide,
};
use ledger::{JobView, StoredJob};
use records::UserId;
use store::UserChange;

use crate::world::{World, new_conversation, segment, wanted, worker};

mod conversation_commands;
mod coverage;
mod execute;
mod expected;
mod next_command;
mod random;

use coverage::Coverage;
use execute::{execute, expected_answer};
use expected::{ExpectedConversation, ExpectedJob, ExpectedUser, aged};
use random::Random;

const STEPS: usize = 3_000;
const CONVERSATIONS: usize = 40;
const USERS: usize = 5;

#[tokio::test]
async fn every_operation_stores_what_decide_decides() {
    let mut run = RandomRun::new(0x5eed).await;
    for _ in 0..STEPS {
        run.step().await;
    }
    // Rare transitions may take longer to be met.
    for _ in 0..10 * STEPS {
        if run.coverage.missing().is_empty() {
            break;
        }
        run.step().await;
    }
    run.check_totals().await;
    let missing = run.coverage.missing();
    assert!(missing.is_empty(), "never met: {missing:#?}\nmet: {:#?}", run.coverage.met);
}

/// A request that brought keys, and the worker that may claim its job at once.
struct Keys {
    claimant: Option<WorkerId>,
}

impl Keys {
    fn with(&self) -> ledger::WithKeys<'_> {
        ledger::WithKeys { claimant: self.claimant.as_ref() }
    }
}

struct RandomRun {
    world: World,
    users: Vec<ExpectedUser>,
    conversations: Vec<ExpectedConversation>,
    finished: Vec<ExpectedConversation>,
    random: Random,
    coverage: Coverage,
    made: usize,
    actions: i64,
}

impl RandomRun {
    async fn new(seed: u64) -> Self {
        let world = World::new().await;
        let mut users = Vec::new();
        for n in 0..USERS {
            let id = UserId::new(format!("user {n}"));
            assert!(world.ledger.store().create_user(&id, &UserChange::default()).await.unwrap());
            users.push(ExpectedUser { id, requires_keys: false });
        }
        let (random, coverage) = (Random(seed), Coverage::default());
        let mut run = Self {
            world,
            users,
            conversations: Vec::new(),
            finished: Vec::new(),
            random,
            coverage,
            made: 0,
            actions: 0,
        };
        for _ in 0..CONVERSATIONS {
            let conversation = run.create_conversation().await;
            run.conversations.push(conversation);
        }
        run
    }

    /// A conversation, created and admitted, or left to be finalized by a later step.
    async fn create_conversation(&mut self) -> ExpectedConversation {
        let user = self.random.below(USERS);
        let id = format!("conversation {}", self.made);
        self.made += 1;
        let new = ledger::NewConversation { deferred: self.random.percent(30), ..new_conversation(&id) };
        let user_id = self.users[user].id.clone();
        let (deferred, id) = (new.deferred, new.id.clone());
        let keys = self.keys();
        match keys.as_ref().map(Keys::with) {
            None => self.world.ledger.create_conversation(&user_id, new, None).await.unwrap(),
            Some(with) => self.world.ledger.create_conversation(&user_id, new, Some(with)).await.unwrap(),
        };
        let mut conversation =
            ExpectedConversation { user, id, status: Some("in_progress"), jobs: Vec::new() };
        if deferred {
            let appended = self
                .world
                .ledger
                .store()
                .append_segments(&user_id, &conversation.id, &[segment("s")])
                .await
                .unwrap();
            assert_eq!(appended, Ok(1));
        } else {
            self.admitted(&mut conversation, Origin::Create, keys).await;
        }
        conversation
    }

    /// Whether a request brings keys, and whether a slot is free for its run.
    fn keys(&mut self) -> Option<Keys> {
        let claimant = self.random.percent(50).then(|| worker("w"));
        self.random.percent(20).then_some(Keys { claimant })
    }

    /// The next revision was admitted: its job must be the one that `Job::admit` makes, claimed in the same
    /// transaction if a slot was free for its keys.
    async fn admitted(
        &mut self,
        conversation: &mut ExpectedConversation,
        origin: Origin,
        keys: Option<Keys>,
    ) {
        let user_id = &self.users[conversation.user];
        let revision = conversation.jobs.len() as i64 + 1;
        let id = JobId::derive(user_id.id.as_str(), conversation.id.as_str(), revision);
        let view = self.world.view(&id).await;
        let force_process = origin != Origin::Create;
        let admission =
            Admission { id, origin, force_process, requires_keys: user_id.requires_keys || keys.is_some() };
        let mut step = Job::admit(admission, view.created_at);
        let mut version = 1;
        if let Some(worker) = keys.and_then(|keys| keys.claimant) {
            let claim = Command::Claim { generation: step.job.generation, worker, keys: true };
            let from = step.job.state.status();
            step = decide(&step.job, claim.clone(), view.created_at, &Policy::default()).unwrap();
            self.coverage.granted(from, &claim, step.job.state.status());
            version = 2;
        }
        assert_eq!((&view.job, view.version), (&step.job, version));
        assert_enqueued(&view, &step);
        for expected in conversation.jobs.iter_mut().filter(|expected| expected.is_unsettled_dead_letter()) {
            let settled =
                decide(&expected.job, Command::Supersede, view.created_at, &Policy::default()).unwrap();
            self.coverage.granted("dead_letter", &Command::Supersede, settled.job.state.status());
            *expected = ExpectedJob { job: settled.job, version: expected.version + 1 };
            assert_same(&self.world.view(&expected.job.id).await, expected, &Command::Supersede);
        }
        conversation.jobs.push(ExpectedJob { job: step.job, version });
        // A reprocessed conversation stays completed, with its old results, until the new revision replaces them.
        if !(origin == Origin::Reprocess && conversation.status == Some("completed")) {
            conversation.status = Some("processing");
        }
    }

    async fn step(&mut self) {
        if self.random.percent(8) {
            return self.claim().await;
        }
        let index = self.random.below(CONVERSATIONS);
        let all_terminal =
            self.conversations[index].jobs.iter().all(|expected| expected.job.state.is_terminal());
        let done = matches!(self.conversations[index].status, None | Some("completed"));
        if all_terminal && done && self.random.percent(25) {
            let fresh = self.create_conversation().await;
            let old = std::mem::replace(&mut self.conversations[index], fresh);
            return self.finished.push(old);
        }
        let jobs = self.conversations[index].jobs.len();
        if jobs == 0 {
            return self.finalize(index).await;
        }
        let newest = self.random.percent(90);
        let which = if newest { jobs - 1 } else { self.random.below(jobs) };
        self.let_time_pass(index, which).await;
        let leased = matches!(self.conversations[index].jobs[which].job.state, State::Leased(_));
        match self.random.below(100) {
            0..5 => self.finalize(index).await,
            5..8 => self.delete(index).await,
            8..9 => self.set_requires_keys(index).await,
            9..14 => self.reprocess(index).await,
            14..18 if leased => self.record(index, which).await,
            _ => {
                let command = self.next_command(index, which);
                self.apply(index, which, command).await;
            }
        }
    }

    async fn let_time_pass(&mut self, index: usize, which: usize) {
        if !self.random.percent(45) {
            return;
        }
        let by = *self.random.one_of(&[31, 31, 31, 121, 301, 301, 1_501, 1_801, 86_401, 14 * 86_400 + 1]);
        let by = Duration::seconds(by);
        let expected = &mut self.conversations[index].jobs[which];
        self.world.age(&expected.job.id, by).await;
        expected.job = aged(&expected.job, by);
    }

    /// Executes the command on both, and compares.
    async fn apply(&mut self, index: usize, which: usize, command: Command) {
        let conversation = &self.conversations[index];
        let expected = conversation.jobs[which].clone();
        let before = self.world.view(&expected.job.id).await;
        assert_same(&before, &expected, &"nothing yet");
        let now = self.world.ledger.db().now().await.unwrap();
        let command = match command {
            Command::Reconcile { .. } => Command::Reconcile { task_waiting: true },
            // A worker that renews a lost lease proves that it lives.
            Command::Renew { epoch } if proves_alive(&expected.job, epoch, now) => {
                Command::ProveAlive { epoch }
            }
            other => other,
        };
        let claimed =
            StoredJob { job: Job { epoch: named_epoch(&command), ..expected.job.clone() }, ..before.stored };
        let actual = execute(&self.world.ledger, &claimed, &command).await;
        let decided = self.settle(index, which, &command, now).await;
        assert_eq!(actual, expected_answer(&expected.job, &command, &decided), "{command:?} on {expected:?}");
        let is_ordered =
            matches!(command, Command::Replay { .. } | Command::Discard | Command::RunNow | Command::Cancel);
        if decided.is_ok() && is_ordered {
            self.actions += 1;
        }
    }

    /// Decides `command` on the expected job at the time at which the ledger stored it, and compares.
    async fn settle(
        &mut self,
        index: usize,
        which: usize,
        command: &Command,
        now: Timestamp,
    ) -> Result<Step, Refusal> {
        let expected = &self.conversations[index].jobs[which];
        let view = self.world.view(&expected.job.id).await;
        let stored = view.version != expected.version;
        let now = if stored { view.updated_at } else { now };
        let decided = self.decide(index, which, command, now);
        assert_eq!(decided.is_ok(), stored, "{command:?} and then {view:?}");
        if let Ok(step) = &decided {
            assert_enqueued(&view, step);
        }
        assert_same(&view, &self.conversations[index].jobs[which], command);
        self.check_row(index, which).await;
        decided
    }

    /// Changes the expected job alone, as `job::decide` says.
    fn decide(
        &mut self,
        index: usize,
        which: usize,
        command: &Command,
        now: Timestamp,
    ) -> Result<Step, Refusal> {
        let conversation = &mut self.conversations[index];
        let expected = &mut conversation.jobs[which];
        let decided = decide(&expected.job, command.clone(), now, &Policy::default());
        let from = expected.job.state.status();
        match &decided {
            Err(refusal) => self.coverage.refused(from, command, *refusal),
            Ok(step) => {
                self.coverage.granted(from, command, step.job.state.status());
                *expected = ExpectedJob { job: step.job.clone(), version: expected.version + 1 };
                apply_effects(&mut conversation.status, step);
            }
        }
        decided
    }

    /// Compares what a view does not show: the time of the next check, and the conversation's status.
    async fn check_row(&self, index: usize, which: usize) {
        let (conversation, expected) = (&self.conversations[index], &self.conversations[index].jobs[which]);
        let next_check: Option<Timestamp> =
            sqlx::query_scalar("select reconcile_after_at from finalization_jobs where job_id = $1")
                .bind(expected.job.id.as_str())
                .fetch_one(&self.world.pool)
                .await
                .unwrap();
        assert_eq!(next_check, expected.job.reconcile_after_at(&Policy::default()), "{expected:?}");
        let status: Option<String> = sqlx::query_scalar(
            "select status from conversations where user_id = $1 and conversation_id = $2",
        )
        .bind(self.users[conversation.user].id.as_str())
        .bind(conversation.id.as_str())
        .fetch_optional(&self.world.pool)
        .await
        .unwrap();
        assert_eq!(status.as_deref(), conversation.status, "{expected:?}");
    }
}

fn proves_alive(job: &Job, epoch: Epoch, now: Timestamp) -> bool {
    let policy = Policy::default();
    decide(job, Command::Renew { epoch }, now, &policy) == Err(Refusal::LeaseLost)
        && decide(job, Command::ProveAlive { epoch }, now, &policy).is_ok()
}

fn named_epoch(command: &Command) -> Epoch {
    match command {
        Command::Renew { epoch }
        | Command::ProveAlive { epoch }
        | Command::Release { epoch, .. }
        | Command::Complete { epoch, .. }
        | Command::Fail { epoch, .. }
        | Command::Park { epoch } => *epoch,
        _ => Epoch(0),
    }
}

/// Applies a step's effects to the conversation's status.
fn apply_effects(status: &mut Option<&'static str>, step: &Step) {
    for effect in &step.effects {
        match effect {
            Effect::CompleteConversation { .. } => *status = Some("completed"),
            Effect::FailConversation { .. } if *status == Some("processing") => *status = Some("failed"),
            Effect::ReopenConversation if *status == Some("failed") => *status = Some("processing"),
            _ => {}
        }
    }
}

fn assert_same(view: &JobView, expected: &ExpectedJob, after: &dyn std::fmt::Debug) {
    assert_eq!((&view.job, view.version), (&expected.job, expected.version), "after {after:?}");
}

/// A job that a step enqueued is queued, and claimable from its time on.
fn assert_enqueued(view: &JobView, step: &Step) {
    for effect in &step.effects {
        if let Effect::Enqueue { at } = effect {
            assert_eq!(view.job.state, State::Queued { ready_at: *at });
            assert_eq!(view.job.dispatch, step.job.dispatch);
        }
    }
}
