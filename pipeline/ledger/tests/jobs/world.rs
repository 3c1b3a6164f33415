//! A database with one user, and short ways to admit and to run jobs.

use std::{ops::Deref, sync::Arc};

use chrono::Duration;
use futures::FutureExt;
use job::{FailureCode, Job, JobId, Outcome, Queue, Refusal, State, WorkerId};
use ledger::{
    Answer, ClaimRequest, Completion, CreateOutcome, JobClaims, JobView, LeaseToken, Ledger, NamedClaim,
    NewContent, NewConversation, Operation, OperatorAction, Results, Settings, StoredJob, Transition,
};
use operations::{Operations, Process, RunCounts};
use outbox::NewEndpoint;
use records::{ConversationId, EventKind, Segment, Source, UserId, WebhookFormat};
use secrecy::SecretString;
use testbed::TestDatabase;

use crate::fixture::Fixture;

pub(crate) struct World {
    pub(crate) fixture: Fixture,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    /// A world with one user, Ann.
    pub(crate) async fn new() -> Self {
        let ledger = |database: &TestDatabase| Ledger::new(database.options(), Settings::default());
        Self { fixture: Fixture::with(ledger, &Default::default()).await }
    }

    /// The same over a database with rows.
    pub(crate) async fn over(database: TestDatabase) -> Self {
        let ledger = |database: &TestDatabase| Ledger::new(database.options(), Settings::default());
        Self { fixture: Fixture::over(database, ledger, &Default::default()).await }
    }

    /// A second process over the same database.
    pub(crate) fn other_process(&self) -> Ledger {
        Ledger::new(self.database.options(), Settings::default())
    }

    /// The operators' handle on the same database.
    pub(crate) fn operations(&self) -> Operations {
        Operations::new(&self.ledger)
    }

    /// Creates a webhook endpoint that subscribes to `events`.
    pub(crate) async fn endpoint(&self, user: &UserId, id: &str, events: &[EventKind]) {
        let new = NewEndpoint {
            force: true,
            id: id.into(),
            url: format!("https://example.com/{id}"),
            events: events.to_vec(),
            format: WebhookFormat::Full,
            secret: SecretString::from("whsec_c2VjcmV0"),
        };
        self.ledger.outbox().create_endpoint(user, &new).await.unwrap().unwrap();
    }

    /// Creates a conversation of Ann's from text; returns its admitted job.
    pub(crate) async fn admitted(&self, id: &str) -> JobId {
        match self.ledger.create_conversation(&self.ann, new_conversation(id), None).await.unwrap() {
            CreateOutcome::Admitted(admitted) => admitted.job_id,
            other => panic!("not admitted: {other:?}"),
        }
    }

    /// Creates a conversation of Ann's that is not finalized yet.
    pub(crate) async fn deferred(&self, id: &str) -> ConversationId {
        let new = NewConversation { deferred: true, ..new_conversation(id) };
        let outcome = self.ledger.create_conversation(&self.ann, new, None).await.unwrap();
        assert!(matches!(outcome, CreateOutcome::Deferred(_)), "{outcome:?}");
        ConversationId::new(id)
    }

    /// A conversation of Ann's whose run has fixture.
    pub(crate) async fn claimed(&self, id: &str) -> StoredJob {
        let job = self.admitted(id).await;
        self.claim(&job).await
    }

    /// Creates a conversation of Ann's and fails its job with `code` until it is a dead letter.
    pub(crate) async fn dead(&self, id: &str, code: FailureCode) -> JobId {
        let claimed = self.claimed(id).await;
        for _ in 0..6 {
            let token = match self.job(&claimed.job.id).await.state {
                State::DeadLetter { .. } => return claimed.job.id,
                State::Leased(_) => {
                    LeaseToken { epoch: self.job(&claimed.job.id).await.epoch, ..claimed.lease_token() }
                }
                _ => {
                    self.age(&claimed.job.id, Duration::hours(1)).await;
                    self.claim(&claimed.job.id).await.lease_token()
                }
            };
            self.ledger.settle(&token, fail(code), None).await.unwrap();
        }
        panic!("{id} does not die");
    }

    /// Fails a run.
    pub(crate) async fn fail(&self, run: &StoredJob, code: FailureCode) {
        self.ledger.settle(&run.lease_token(), fail(code), None).await.unwrap();
    }

    /// Releases a run without delay.
    pub(crate) async fn release(&self, run: &StoredJob) -> Answer {
        let release = Transition::Release { delay: Duration::zero() };
        self.ledger.settle(&run.lease_token(), release, None).await.unwrap()
    }

    /// Runs an operator's action on a job, as Olga.
    pub(crate) async fn operate(&self, job: &JobId, operation: Operation) -> Result<Job, Refusal> {
        operate(&self.ledger, job, operation).await
    }

    /// Claims the job by its current generation.
    pub(crate) async fn claim(&self, job: &JobId) -> StoredJob {
        let generation = self.job(job).await.generation;
        let (answer, claimed) =
            parts(self.ledger.claim_delivery(job, generation, &worker("w")).await.unwrap());
        assert_eq!(answer, "claimed");
        claimed.unwrap()
    }

    /// The job as operators see it.
    pub(crate) async fn view(&self, job: &JobId) -> JobView {
        self.ledger.job(job).await.unwrap().unwrap()
    }

    /// The job as it is stored.
    pub(crate) async fn job(&self, job: &JobId) -> Job {
        self.view(job).await.stored.job
    }

    /// Moves all times of one job into the past by `by`.
    pub(crate) async fn age(&self, job: &JobId, by: Duration) {
        sqlx::query(AGE).bind(job.as_str()).bind(by.num_seconds() as f64).execute(&self.pool).await.unwrap();
    }

    /// Reports a live process.
    pub(crate) async fn has_process(&self) {
        self.operations().report_process(&process("host:1", 4), &RunCounts::default()).await.unwrap();
    }

    /// Whether the delivery dispatchers were woken since the last call.
    pub(crate) fn is_woken(&self) -> bool {
        self.ledger.db().waker().deliveries_waiting().now_or_never().is_some()
    }

    /// Claims up to ten jobs of a queue.
    pub(crate) async fn claims(&self, queue: Queue) -> JobClaims {
        self.ledger.claim(&wanted(queue, 10)).await.unwrap()
    }

    /// Claims up to ten jobs of a queue; returns their ids, oldest first.
    pub(crate) async fn claimed_ids(&self, queue: Queue) -> Vec<JobId> {
        ids(self.claims(queue).await)
    }
}

/// Runs an operator's action on a job, as Olga.
pub(crate) async fn operate(ledger: &Ledger, job: &JobId, operation: Operation) -> Result<Job, Refusal> {
    match ledger.operate(job, operation, &olga()).await.unwrap() {
        Answer::Granted { job, .. } => Ok(job),
        Answer::Refused(refusal) => Err(refusal),
        Answer::Missing => panic!("there is no such job"),
    }
}

pub(crate) const REPLAY: Operation = Operation::Replay { from_scratch: false };

/// The operator Olga, and her reason.
pub(crate) fn olga() -> OperatorAction {
    OperatorAction::new("olga", "fixed")
}

/// The transition of a failed run.
pub(crate) const fn fail(code: FailureCode) -> Transition {
    Transition::Fail { code, retry_after: None, jitter_permille: 0 }
}

/// The outcome's name, and the run if the claim was granted.
pub(crate) fn parts(claim: NamedClaim) -> (&'static str, Option<StoredJob>) {
    let answer = claim.answer();
    match claim {
        NamedClaim::Granted { claimed, .. } => (answer, Some(*claimed)),
        _ => (answer, None),
    }
}

/// A claim by the worker `w` for `slots` free slots, without a limit per user.
pub(crate) fn wanted(queue: Queue, slots: u32) -> ClaimRequest {
    ClaimRequest {
        queue,
        worker: worker("w"),
        slots,
        share: u32::MAX,
        most: u32::MAX,
        running: Default::default(),
    }
}

/// The ids of claimed jobs.
pub(crate) fn ids(claims: JobClaims) -> Vec<JobId> {
    claims.claims.into_iter().map(|claimed| claimed.job.id).collect()
}

const AGE: &str = "update finalization_jobs j set admitted_at = admitted_at - t.by, ready_at = ready_at - t.by, \
         lease_claimed_at = lease_claimed_at - t.by, lease_expires_at = lease_expires_at - t.by, \
         lease_ready_at = lease_ready_at - t.by, first_blocked_at = first_blocked_at - t.by, \
         settled_at = settled_at - t.by, next_check_at = next_check_at - t.by, \
         reconcile_after_at = reconcile_after_at - t.by \
     from (select make_interval(secs => $2) as by) t where job_id = $1";

/// A worker of that name.
pub(crate) fn worker(name: &str) -> WorkerId {
    WorkerId(name.into())
}

/// A worker process with `slots` slots for each queue.
pub(crate) fn process(id: &str, slots: u32) -> Process {
    Process {
        id: id.into(),
        version: "1".into(),
        roles: vec!["worker".into()],
        dispatch_mode: "postgres".into(),
        finalization_slots: slots,
        creation_slots: slots,
        stopping: false,
    }
}

/// A new conversation from text.
pub(crate) fn new_conversation(id: &str) -> NewConversation {
    let text = NewContent::Text {
        text: "We should meet on Monday.".into(),
        text_source: "message".into(),
        text_source_spec: None,
    };
    NewConversation::new(ConversationId::new(id), text, Source::new("phone"))
}

/// A segment of one second.
pub(crate) fn segment(id: &str) -> Segment {
    Segment {
        id: Some(id.into()),
        text: "Well.".into(),
        speaker: Some("SPEAKER_00".into()),
        speaker_id: None,
        is_user: false,
        person_id: None,
        start: 0.0,
        end: 1.0,
    }
}

/// The completion of a run; items and memories are equal when their texts are.
pub(crate) fn completion(claimed: &StoredJob, outcome: Outcome, results: Results) -> Arc<Completion> {
    let same = Arc::new(|one: &str, other: &str| one == other);
    Arc::new(Completion { claimed: claimed.clone(), outcome, results, same })
}
