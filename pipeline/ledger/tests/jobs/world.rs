//! A database with a person in it, and short ways to admit and to run jobs.

use std::{ops::Deref, sync::Arc};

use chrono::Duration;
use futures::FutureExt;
use job::{FailureCode, Job, JobId, Outcome, Queue, Refusal, State, WorkerId};
use ledger::{
    Answer, ClaimRequest, Claimed, Comparison, Completion, CreateOutcome, JobClaims, JobView, LeaseToken,
    Ledger, NamedClaim, NewContent, NewConversation, Operation, OperatorAction, Results, Same, Settings,
    Transition,
};
use operations::{Operations, Process, RunCounts};
use outbox::NewEndpoint;
use records::{ConversationId, EventKind, Segment, Source, UserId, WebhookFormat};
use secrecy::SecretString;
use testbed::TestDatabase;

use crate::begun::Begun;

pub(crate) struct World {
    pub(crate) begun: Begun,
}

impl Deref for World {
    type Target = Begun;

    fn deref(&self) -> &Begun {
        &self.begun
    }
}

impl World {
    /// One person, Ann.
    pub(crate) async fn new() -> Self {
        let ledger = |database: &TestDatabase| Ledger::new(database.options(), Settings::default());
        Self { begun: Begun::with(ledger, &Default::default()).await }
    }

    /// A second process over the same database.
    pub(crate) fn other_process(&self) -> Ledger {
        Ledger::new(self.database.options(), Settings::default())
    }

    /// What operators ask of it.
    pub(crate) fn operations(&self) -> Operations {
        Operations::new(&self.ledger)
    }

    /// An endpoint that asks for `events`.
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

    /// A conversation of Ann's that was created from text and admitted.
    pub(crate) async fn admitted(&self, id: &str) -> JobId {
        match self.ledger.create_conversation(&self.ann, talk(id)).await.unwrap() {
            CreateOutcome::Admitted(admitted) => admitted.job_id,
            other => panic!("not admitted: {other:?}"),
        }
    }

    /// A conversation of Ann's that waits for its finalize.
    pub(crate) async fn deferred(&self, id: &str) -> ConversationId {
        let new = NewConversation { deferred: true, ..talk(id) };
        let outcome = self.ledger.create_conversation(&self.ann, new).await.unwrap();
        assert!(matches!(outcome, CreateOutcome::Deferred(_)), "{outcome:?}");
        ConversationId::new(id)
    }

    /// A conversation of Ann's whose run has begun.
    pub(crate) async fn claimed(&self, id: &str) -> Claimed {
        let job = self.admitted(id).await;
        self.claim(&job).await
    }

    /// A dead letter of Ann's.
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

    /// A run fails.
    pub(crate) async fn fail(&self, run: &Claimed, code: FailureCode) {
        self.ledger.settle(&run.lease_token(), fail(code), None).await.unwrap();
    }

    /// A run is given back at once.
    pub(crate) async fn release(&self, run: &Claimed) -> Answer {
        let release = Transition::Release { delay: Duration::zero() };
        self.ledger.settle(&run.lease_token(), release, None).await.unwrap()
    }

    /// What Olga, an operator, orders of a job.
    pub(crate) async fn operate(&self, job: &JobId, operation: Operation) -> Result<Job, Refusal> {
        operate(&self.ledger, job, operation).await
    }

    /// A granted claim of the job's present dispatch.
    pub(crate) async fn claim(&self, job: &JobId) -> Claimed {
        let generation = self.job(job).await.generation;
        let (answer, claimed) =
            parts(self.ledger.claim_delivery(job, generation, &worker("w")).await.unwrap());
        assert_eq!(answer, "claimed");
        claimed.unwrap()
    }

    /// All that operators see of a job.
    pub(crate) async fn view(&self, job: &JobId) -> JobView {
        self.ledger.job(job).await.unwrap().unwrap()
    }

    /// A job as it is stored.
    pub(crate) async fn job(&self, job: &JobId) -> Job {
        self.view(job).await.job
    }

    /// Lets `by` pass for one job: all its times move into the past.
    pub(crate) async fn age(&self, job: &JobId, by: Duration) {
        sqlx::query(AGE).bind(job.as_str()).bind(by.num_seconds() as f64).execute(&self.pool).await.unwrap();
    }

    /// A process lives, and was seen now.
    pub(crate) async fn has_process(&self) {
        self.operations().report_process(&process("host:1", 4), &RunCounts::default()).await.unwrap();
    }

    /// Whether those who send deliveries were woken since the last time.
    pub(crate) fn is_woken(&self) -> bool {
        self.ledger.db().waker().deliveries_waiting().now_or_never().is_some()
    }

    /// Claims up to ten jobs of a queue.
    pub(crate) async fn claims(&self, queue: Queue) -> JobClaims {
        self.ledger.claim(&wanted(queue, 10)).await.unwrap()
    }

    /// The ids of the jobs that such a claim brings, oldest first.
    pub(crate) async fn claimed_ids(&self, queue: Queue) -> Vec<JobId> {
        ids(self.claims(queue).await)
    }
}

/// What Olga, an operator, orders of a job.
pub(crate) async fn operate(ledger: &Ledger, job: &JobId, operation: Operation) -> Result<Job, Refusal> {
    ledger.operate(job, operation, &olga(), None).await.unwrap().unwrap()
}

pub(crate) const REPLAY: Operation = Operation::Replay { from_scratch: false };

/// An operator, and why she does it.
pub(crate) fn olga() -> OperatorAction {
    OperatorAction { operator: "olga".into(), reason: "fixed".into() }
}

/// A failure of that cause.
pub(crate) const fn fail(code: FailureCode) -> Transition {
    Transition::Fail { code, retry_after: None, jitter_permille: 0 }
}

/// The name of what came of a claim, and the run when it was granted.
pub(crate) fn parts(claim: NamedClaim) -> (&'static str, Option<Claimed>) {
    let answer = claim.answer();
    match claim {
        NamedClaim::Granted { claimed, .. } => (answer, Some(*claimed)),
        _ => (answer, None),
    }
}

/// A claim of the worker `w` for so many free slots, where no user has a share to keep to.
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

/// A process that works, with so many slots for each queue.
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

/// A conversation that its client created from text.
pub(crate) fn talk(id: &str) -> NewConversation {
    let text = NewContent::Text {
        text: "We should meet on Monday.".into(),
        text_source: "message".into(),
        text_source_spec: None,
    };
    NewConversation::new(ConversationId::new(id), text, Source::new("phone"))
}

/// A second of speech.
pub(crate) fn said(id: &str) -> Segment {
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

/// What a run asks to be committed; two things are the same when their words are.
pub(crate) fn completion(claimed: &Claimed, outcome: Outcome, results: Results) -> Arc<Completion> {
    let equal = || -> Comparison { Arc::new(|| records::pairwise(|one, other| one == other)) };
    let same = Same { task: equal(), fact: equal() };
    Arc::new(Completion { claimed: claimed.clone(), outcome, results, same })
}
