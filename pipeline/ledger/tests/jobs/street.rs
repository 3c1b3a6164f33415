//! Three conversations in the same state, two of them of the very same id: what is said of one is held against the rest.

use job::{FailureCode, JobId, Outcome};
use ledger::{
    CheckpointKey, Claimed, CreateOutcome, Finished, NewContent, NewConversation, NewItem, NewMemory,
    Results, Transition,
};
use records::{ConversationId, EventKind, MemoryCategory, Structured, UserId};
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::world::{World, completion, fail, said, talk};

pub(crate) const KEY: CheckpointKey = CheckpointKey { stage: "structure", version: 1, digest: [7; 32] };

/// Ann has `c` and `d`, Bob has a `c`, too.
pub(crate) struct Street {
    pub(crate) world: World,
    pub(crate) bob: UserId,
}

impl Street {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        let bob = UserId::new("bob");
        assert!(world.ledger.store().create_user(&bob, &Default::default()).await.unwrap());
        for user in [&world.ann, &bob] {
            world.endpoint(user, "w", &EventKind::ALL).await;
        }
        Self { world, bob }
    }

    /// Everybody's conversations, Ann's `c` first.
    pub(crate) fn all(&self) -> [(&UserId, &'static str); 3] {
        [(&self.world.ann, "c"), (&self.world.ann, "d"), (&self.bob, "c")]
    }

    /// Everybody's conversations admitted, with a session's name.
    pub(crate) async fn admitted(&self) -> Vec<JobId> {
        let mut jobs = Vec::new();
        for (user, id) in self.all() {
            let new = NewConversation { client_session_id: Some(format!("{user} {id}")), ..talk(id) };
            match self.world.ledger.create_conversation(user, new).await.unwrap() {
                CreateOutcome::Admitted(admitted) => jobs.push(admitted.job_id),
                other => panic!("not admitted: {other:?}"),
            }
        }
        jobs
    }

    /// The same, claimed, each with a checkpoint.
    pub(crate) async fn claimed(&self) -> Vec<Claimed> {
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

    /// The same, dead.
    pub(crate) async fn dead(&self) -> Vec<Claimed> {
        let claimed = self.claimed().await;
        for run in &claimed {
            self.settle(run, fail(FailureCode::InvalidJob)).await;
        }
        claimed
    }

    /// The same, completed, each with things of its own.
    pub(crate) async fn completed(&self) -> Vec<Claimed> {
        let claimed = self.claimed().await;
        for run in &claimed {
            self.complete(run, Outcome::Kept, &results("First", run)).await;
        }
        claimed
    }

    /// Everybody's conversations waiting for their finalize, with one segment each.
    pub(crate) async fn deferred(&self) {
        for (user, id) in self.all() {
            let new =
                NewConversation { deferred: true, content: NewContent::Segments(Vec::new()), ..talk(id) };
            self.world.ledger.create_conversation(user, new).await.unwrap();
            let (id, segments) = (ConversationId::new(id), [said("s")]);
            let held =
                self.world.ledger.store().append_segments(user, &id, &segments).await.unwrap().unwrap();
            assert_eq!(held, 1, "what others have said is no news of ours");
        }
    }

    pub(crate) async fn settle(&self, run: &Claimed, transition: Transition) {
        self.world.ledger.settle(&run.lease_token(), transition, None).await.unwrap();
    }

    pub(crate) async fn complete(&self, run: &Claimed, outcome: Outcome, results: &Results) -> Finished {
        self.world.ledger.complete(&completion(run, outcome, results.clone())).await.unwrap()
    }

    /// All rows that are not about Ann's `c`, as text.
    pub(crate) async fn bystanders(&self) -> String {
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

    /// Runs `verb`, which says something of Ann's `c`, and holds everything else against what it was.
    pub(crate) async fn spared<T>(&self, verb: impl Future<Output = T>) -> T {
        let before = self.bystanders().await;
        let done = verb.await;
        let after = self.bystanders().await;
        assert_eq!(before, after);
        done
    }
}

/// Objects that name their owner, so that no two users' are the same.
pub(crate) fn results(title: &str, run: &Claimed) -> Results {
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
