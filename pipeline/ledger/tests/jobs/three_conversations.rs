//! Three conversations in the same state, two of them with the same id, to test that an operation on one changes no
//! other.

use job::{FailureCode, JobId, Outcome};
use ledger::{
    CheckpointKey, CreateOutcome, Finished, NewContent, NewConversation, NewItem, NewMemory, Results,
    StoredJob, Transition,
};
use records::{ConversationId, EventKind, MemoryCategory, Structured, UserId};
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::world::{World, completion, fail, new_conversation, segment};

pub(crate) const KEY: CheckpointKey = CheckpointKey { stage: "structure", version: 1, digest: [7; 32] };

/// Ann has `c` and `d`, Bob has a `c`, too.
pub(crate) struct ThreeConversations {
    pub(crate) world: World,
    pub(crate) bob: UserId,
}

impl ThreeConversations {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        let bob = UserId::new("bob");
        assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
        for user in [&world.ann, &bob] {
            world.endpoint(user, "w", EventKind::ALL).await;
        }
        Self { world, bob }
    }

    /// The three conversations, Ann's `c` first.
    pub(crate) fn all(&self) -> [(&UserId, &'static str); 3] {
        [(&self.world.ann, "c"), (&self.world.ann, "d"), (&self.bob, "c")]
    }

    /// Admits all three, each with a client session id; returns their jobs.
    pub(crate) async fn admitted(&self) -> Vec<JobId> {
        let mut jobs = Vec::new();
        for (user, id) in self.all() {
            let new =
                NewConversation { client_session_id: Some(format!("{user} {id}")), ..new_conversation(id) };
            match self.world.ledger.create_conversation(user, new, None).await.unwrap() {
                CreateOutcome::Admitted(admitted) => jobs.push(admitted.job_id),
                other => panic!("not admitted: {other:?}"),
            }
        }
        jobs
    }

    /// Claims all three, and records a checkpoint for each.
    pub(crate) async fn claimed(&self) -> Vec<StoredJob> {
        let mut claimed = Vec::new();
        for job in self.admitted().await {
            let run = self.world.claim(&job).await;
            assert!(
                self.world
                    .ledger
                    .record(&run.lease_token(), &KEY, &json!(run.user_id.as_str()), false, &[])
                    .await
                    .unwrap()
            );
            claimed.push(run);
        }
        claimed
    }

    /// Makes all three dead letters.
    pub(crate) async fn dead(&self) -> Vec<StoredJob> {
        let claimed = self.claimed().await;
        for run in &claimed {
            self.settle(run, fail(FailureCode::InvalidJob)).await;
        }
        claimed
    }

    /// Completes all three, each with results of its own.
    pub(crate) async fn completed(&self) -> Vec<StoredJob> {
        let claimed = self.claimed().await;
        for run in &claimed {
            self.complete(run, Outcome::Kept, &results("First", run)).await;
        }
        claimed
    }

    /// Creates all three without finalizing them, with one segment each.
    pub(crate) async fn deferred(&self) {
        for (user, id) in self.all() {
            let new = NewConversation {
                deferred: true,
                content: NewContent::Segments(Vec::new()),
                ..new_conversation(id)
            };
            self.world.ledger.create_conversation(user, new, None).await.unwrap();
            let (id, segments) = (ConversationId::new(id), [segment("s")]);
            let held =
                self.world.ledger.store().append_segments(user, &id, &segments).await.unwrap().unwrap();
            assert_eq!(held, 1, "only its own segment is counted");
        }
    }

    pub(crate) async fn settle(&self, run: &StoredJob, transition: Transition) {
        self.world.ledger.settle(&run.lease_token(), transition, None).await.unwrap();
    }

    pub(crate) async fn complete(&self, run: &StoredJob, outcome: Outcome, results: &Results) -> Finished {
        self.world.ledger.complete(&completion(run, outcome, results.clone())).await.unwrap()
    }

    /// All rows that are not about Ann's `c`, as text.
    pub(crate) async fn other_rows(&self) -> String {
        let tables: Vec<(String, bool, bool)> = self.world.rows("select table_name::text, bool_or(column_name = 'conversation_id'), bool_or(column_name = 'job_id') \
             from information_schema.columns where table_schema = 'public' \
             group by table_name having bool_or(column_name in ('user_id', 'job_id')) order by 1").await;
        let mut all = String::new();
        for (table, has_conversation, has_job) in tables {
            const JOBS: &str =
                "(select job_id from finalization_jobs where user_id = 'ann' and conversation_id = 'c')";
            let others = match (has_conversation, has_job) {
                (true, _) => {
                    "not (t.user_id = 'ann' and t.conversation_id is not distinct from 'c')".to_owned()
                }
                (false, true) => format!("t.job_id not in {JOBS}"),
                (false, false) => "t.user_id <> 'ann'".to_owned(),
            };
            let query = format!(
                "select coalesce(jsonb_agg(t order by t::text)::text, '') from {table} t where {others}"
            );
            let rows: String =
                sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&self.world.pool).await.unwrap();
            all.push_str(&format!("{table}: {rows}\n"));
        }
        all
    }

    /// Runs an operation on Ann's `c`, and asserts that all other rows stay as they were.
    pub(crate) async fn changes_no_other_rows<T>(&self, operation: impl Future<Output = T>) -> T {
        let before = self.other_rows().await;
        let done = operation.await;
        let after = self.other_rows().await;
        assert_eq!(before, after);
        done
    }
}

/// Results whose texts name their owner, so that no two users' are equal.
pub(crate) fn results(title: &str, run: &StoredJob) -> Results {
    let own = format!("{title} of {} {}", run.user_id, run.conversation_id);
    Results {
        structured: Structured { title: own.clone(), ..Structured::default() },
        items: vec![NewItem { description: format!("Do {own}"), due_at: None }],
        memories: vec![NewMemory { content: format!("Knows {own}"), category: MemoryCategory::Core }],
        embedding: Some((own, vec![1.0, 2.0])),
        engine: "test".into(),
        announcements: vec![EventKind::ConversationCompleted],
        ..Results::default()
    }
}

pub(crate) fn c() -> ConversationId {
    ConversationId::new("c")
}
