//! The ledger does what `job::decide` says, and nothing else: thousands of random commands go through the public
//! verbs, a mirror is changed by the pure machine alone, and after each command both must be equal.

use chrono::Duration;
use job::{
    Admission, Command, Effect, Epoch, FailureCode, Job, JobId, Origin, Outcome, Policy, Queue, Refusal,
    State, Step, Timestamp, WorkerId, decide,
};
use ledger::{Claimed, JobView};
use records::UserId;
use store::UserChange;

use crate::{
    chance::Chance,
    mirror::{Mirror, Person, Talk, aged},
    said::{answer, say},
    seen::Seen,
    world::{World, said, talk, wanted, worker},
};

const STEPS: usize = 3_000;
const TALKS: usize = 40;
const PEOPLE: usize = 5;

#[tokio::test]
async fn every_verb_stores_what_the_machine_decides() {
    let mut walk = Walk::new(0x5eed).await;
    for _ in 0..STEPS {
        walk.step().await;
    }
    // What is rare may take a little longer to be met.
    for _ in 0..10 * STEPS {
        if walk.seen.missing().is_empty() {
            break;
        }
        walk.step().await;
    }
    walk.check_totals().await;
    let missing = walk.seen.missing();
    assert!(missing.is_empty(), "never met: {missing:#?}\nmet: {:#?}", walk.seen.met);
}

/// That a request brought keys, and who may claim its job at once.
struct Keys {
    claimant: Option<WorkerId>,
}

impl Keys {
    fn with(&self) -> ledger::WithKeys<'_> {
        ledger::WithKeys { claimant: self.claimant.as_ref() }
    }
}

struct Walk {
    world: World,
    people: Vec<Person>,
    talks: Vec<Talk>,
    retired: Vec<Talk>,
    chance: Chance,
    seen: Seen,
    made: usize,
    actions: i64,
}

impl Walk {
    async fn new(seed: u64) -> Self {
        let world = World::new().await;
        let mut people = Vec::new();
        for n in 0..PEOPLE {
            let id = UserId::new(format!("person {n}"));
            assert!(world.ledger.store().create_user(&id, &UserChange::default()).await.unwrap());
            people.push(Person { id, marked: false });
        }
        let (chance, seen) = (Chance(seed), Seen::default());
        let mut walk =
            Self { world, people, talks: Vec::new(), retired: Vec::new(), chance, seen, made: 0, actions: 0 };
        for _ in 0..TALKS {
            let talk = walk.new_talk().await;
            walk.talks.push(talk);
        }
        walk
    }

    /// A conversation, created and admitted, or left to be finalized by a later step.
    async fn new_talk(&mut self) -> Talk {
        let user = self.chance.below(PEOPLE);
        let id = format!("talk {}", self.made);
        self.made += 1;
        let new = ledger::NewConversation { deferred: self.chance.percent(30), ..talk(&id) };
        let person = self.people[user].id.clone();
        let (deferred, id) = (new.deferred, new.id.clone());
        let keys = self.keys();
        match keys.as_ref().map(Keys::with) {
            None => self.world.ledger.create_conversation(&person, new).await.unwrap(),
            Some(with) => self.world.ledger.create_conversation_with_keys(&person, new, with).await.unwrap(),
        };
        let mut talk = Talk { user, id, status: Some("in_progress"), jobs: Vec::new() };
        if deferred {
            let appended =
                self.world.ledger.store().append_segments(&person, &talk.id, &[said("s")]).await.unwrap();
            assert_eq!(appended, Ok(1));
        } else {
            self.admitted(&mut talk, Origin::Create, keys).await;
        }
        talk
    }

    /// Whether a request brings keys, and whether a slot is free for its run.
    fn keys(&mut self) -> Option<Keys> {
        let claimant = self.chance.percent(50).then(|| worker("w"));
        self.chance.percent(20).then_some(Keys { claimant })
    }

    /// The next revision of `talk` was admitted: its job must be the one that `Job::admit` makes, claimed in the same
    /// moment when its keys found a slot.
    async fn admitted(&mut self, talk: &mut Talk, origin: Origin, keys: Option<Keys>) {
        let person = &self.people[talk.user];
        let revision = talk.jobs.len() as i64 + 1;
        let id = JobId::derive(person.id.as_str(), talk.id.as_str(), revision);
        let view = self.world.view(&id).await;
        let force_process = origin != Origin::Create;
        let admission =
            Admission { id, origin, force_process, requires_keys: person.marked || keys.is_some() };
        let mut step = Job::admit(admission, view.created_at);
        let mut version = 1;
        if let Some(worker) = keys.and_then(|keys| keys.claimant) {
            let claim = Command::Claim { generation: step.job.generation, worker, keys: true };
            let from = step.job.state.status();
            step = decide(&step.job, claim.clone(), view.created_at, &Policy::default()).unwrap();
            self.seen.granted(from, &claim, step.job.state.status());
            version = 2;
        }
        assert_eq!((&view.job, view.version), (&step.job, version));
        assert_enqueued(&view, &step);
        for mirror in talk.jobs.iter_mut().filter(|mirror| mirror.waits_for_an_operator()) {
            let settled =
                decide(&mirror.job, Command::Supersede, view.created_at, &Policy::default()).unwrap();
            self.seen.granted("dead_letter", &Command::Supersede, settled.job.state.status());
            *mirror = Mirror { job: settled.job, version: mirror.version + 1 };
            assert_same(&self.world.view(&mirror.job.id).await, mirror, &Command::Supersede);
        }
        talk.jobs.push(Mirror { job: step.job, version });
        // What is processed again stays completed, with its old results, until the new revision replaces them.
        if !(origin == Origin::Reprocess && talk.status == Some("completed")) {
            talk.status = Some("processing");
        }
    }

    async fn step(&mut self) {
        if self.chance.percent(8) {
            return self.claim().await;
        }
        let index = self.chance.below(TALKS);
        let at_rest = self.talks[index].jobs.iter().all(|mirror| mirror.job.state.is_terminal());
        let done = matches!(self.talks[index].status, None | Some("completed"));
        if at_rest && done && self.chance.percent(25) {
            let fresh = self.new_talk().await;
            let old = std::mem::replace(&mut self.talks[index], fresh);
            return self.retired.push(old);
        }
        let jobs = self.talks[index].jobs.len();
        if jobs == 0 {
            return self.finalize(index).await;
        }
        let newest = self.chance.percent(90);
        let which = if newest { jobs - 1 } else { self.chance.below(jobs) };
        self.let_time_pass(index, which).await;
        let leased = matches!(self.talks[index].jobs[which].job.state, State::Leased(_));
        match self.chance.below(100) {
            0..5 => self.finalize(index).await,
            5..8 => self.delete(index).await,
            8..9 => self.mark(index).await,
            9..14 => self.reprocess(index).await,
            14..18 if leased => self.record(index, which).await,
            _ => {
                let command = self.command(index, which);
                self.apply(index, which, command).await;
            }
        }
    }

    async fn let_time_pass(&mut self, index: usize, which: usize) {
        if !self.chance.percent(45) {
            return;
        }
        let by = *self.chance.one_of(&[31, 31, 31, 121, 301, 301, 1_501, 1_801, 86_401, 14 * 86_400 + 1]);
        let by = Duration::seconds(by);
        let mirror = &mut self.talks[index].jobs[which];
        self.world.age(&mirror.job.id, by).await;
        mirror.job = aged(&mirror.job, by);
    }

    /// Says the command to both, and compares.
    async fn apply(&mut self, index: usize, which: usize, command: Command) {
        let talk = &self.talks[index];
        let mirror = talk.jobs[which].clone();
        let before = self.world.view(&mirror.job.id).await;
        assert_same(&before, &mirror, &"nothing yet");
        let now = self.world.ledger.db().now().await.unwrap();
        let command = match command {
            Command::Reconcile { .. } => Command::Reconcile { task_waiting: true },
            // A holder whose lease is gone renews it all the same: that is how it proves that it lives.
            Command::Renew { epoch } if proves(&mirror.job, epoch, now) => Command::ProveAlive { epoch },
            other => other,
        };
        let whose = Claimed {
            user_id: before.user_id,
            conversation_id: before.conversation_id,
            revision: before.revision,
            job: Job { epoch: named_epoch(&command), ..mirror.job.clone() },
            trace: None,
        };
        let answered = say(&self.world.ledger, &whose, &command).await;
        let decided = self.settle(index, which, &command, now).await;
        assert_eq!(answered, answer(&mirror.job, &command, &decided), "{command:?} on {mirror:?}");
        let is_ordered =
            matches!(command, Command::Replay { .. } | Command::Discard | Command::RunNow | Command::Cancel);
        if decided.is_ok() && is_ordered {
            self.actions += 1;
        }
    }

    /// Decides `command` on the mirror at the moment at which the ledger stored it, and compares what is stored.
    async fn settle(
        &mut self,
        index: usize,
        which: usize,
        command: &Command,
        now: Timestamp,
    ) -> Result<Step, Refusal> {
        let mirror = &self.talks[index].jobs[which];
        let view = self.world.view(&mirror.job.id).await;
        let stored = view.version != mirror.version;
        let now = if stored { view.updated_at } else { now };
        let decided = self.decide(index, which, command, now);
        assert_eq!(decided.is_ok(), stored, "{command:?} and then {view:?}");
        if let Ok(step) = &decided {
            assert_enqueued(&view, step);
        }
        assert_same(&view, &self.talks[index].jobs[which], command);
        self.check_row(index, which).await;
        decided
    }

    /// Changes the mirror, and nothing else, as the machine says.
    fn decide(
        &mut self,
        index: usize,
        which: usize,
        command: &Command,
        now: Timestamp,
    ) -> Result<Step, Refusal> {
        let talk = &mut self.talks[index];
        let mirror = &mut talk.jobs[which];
        let decided = decide(&mirror.job, command.clone(), now, &Policy::default());
        let from = mirror.job.state.status();
        match &decided {
            Err(refusal) => self.seen.refused(from, command, *refusal),
            Ok(step) => {
                self.seen.granted(from, command, step.job.state.status());
                *mirror = Mirror { job: step.job.clone(), version: mirror.version + 1 };
                follow(&mut talk.status, step);
            }
        }
        decided
    }

    /// What a view does not show: the moment of the next look as it is stored, and the conversation's status.
    async fn check_row(&self, index: usize, which: usize) {
        let (talk, mirror) = (&self.talks[index], &self.talks[index].jobs[which]);
        let look: Option<Timestamp> =
            sqlx::query_scalar("select reconcile_after_at from finalization_jobs where job_id = $1")
                .bind(mirror.job.id.as_str())
                .fetch_one(&self.world.pool)
                .await
                .unwrap();
        assert_eq!(look, mirror.job.reconcile_after_at(&Policy::default()), "{mirror:?}");
        let status: Option<String> = sqlx::query_scalar(
            "select status from conversations where user_id = $1 and conversation_id = $2",
        )
        .bind(self.people[talk.user].id.as_str())
        .bind(talk.id.as_str())
        .fetch_optional(&self.world.pool)
        .await
        .unwrap();
        assert_eq!(status.as_deref(), talk.status, "{mirror:?}");
    }
}

mod pick;
mod whole;

fn proves(job: &Job, epoch: Epoch, now: Timestamp) -> bool {
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

/// What a step's effects make of the conversation's status.
fn follow(status: &mut Option<&'static str>, step: &Step) {
    for effect in &step.effects {
        match effect {
            Effect::CompleteConversation { .. } => *status = Some("completed"),
            Effect::FailConversation { .. } if *status == Some("processing") => *status = Some("failed"),
            Effect::ReopenConversation if *status == Some("failed") => *status = Some("processing"),
            _ => {}
        }
    }
}

fn assert_same(view: &JobView, mirror: &Mirror, after: &dyn std::fmt::Debug) {
    assert_eq!((&view.job, view.version), (&mirror.job, mirror.version), "after {after:?}");
}

/// What a step enqueues is in its queue, claimable from then on.
fn assert_enqueued(view: &JobView, step: &Step) {
    for effect in &step.effects {
        if let Effect::Enqueue { at } = effect {
            assert_eq!(view.job.state, State::Queued { ready_at: *at });
            assert_eq!(view.job.dispatch, step.job.dispatch);
        }
    }
}
