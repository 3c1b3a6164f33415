//! A database, processes over it, and short ways to bring a job to the state before an operation.

use std::{collections::HashMap, sync::Arc};

use chrono::Duration;
use job::{JobId, Outcome, Policy, Queue, WorkerId};
use ledger::{
    ClaimRequest, Completion, CreateOutcome, JobClaims, Ledger, NewContent, NewConversation, NewItem,
    NewMemory, OperatorAction, Results, Settings, StoredJob,
};
use outbox::NewEndpoint;
use records::{ConversationId, EventKind, MemoryCategory, Source, UserId, WebhookFormat};
use secrecy::SecretString;
use sqlx::{PgPool, postgres::PgConnectOptions};
use testbed::TestDatabase;

pub(crate) struct World {
    pub(crate) database: TestDatabase,
    pub(crate) pool: PgPool,
    clean: Ledger,
}

/// Leases that expire at once and checks that are due at once, so that recovery need not wait.
pub(crate) fn policy() -> Policy {
    Policy {
        lease: Duration::milliseconds(1),
        staleness: Duration::zero(),
        back_off: [Duration::zero(); 4],
        ..Policy::default()
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::new().await;
        let pool = database.pool(2).await;
        let clean = Ledger::new(database.options(), settings());
        Self { database, pool, clean }
    }

    /// A process whose connections are not cut.
    pub(crate) fn ledger(&self) -> Ledger {
        self.clean.clone()
    }

    /// Another process.
    pub(crate) fn process(&self, options: &PgConnectOptions) -> Ledger {
        Ledger::new(options.clone(), settings())
    }

    /// Creates a user with an endpoint that subscribes to every event.
    pub(crate) async fn user(&self, id: &str) -> UserId {
        let user = UserId::new(id);
        assert!(self.clean.store().create_user(&user, &Default::default()).await.unwrap());
        let endpoint = NewEndpoint {
            force: true,
            id: format!("hook-{id}"),
            url: "https://example.com/hook".to_owned(),
            events: vec![
                EventKind::ConversationCompleted,
                EventKind::ConversationFailed,
                EventKind::ActionItemCreated,
                EventKind::MemoryCreated,
            ],
            format: WebhookFormat::Full,
            secret: SecretString::from("whsec_c2VjcmV0"),
        };
        self.clean.outbox().create_endpoint(&user, &endpoint).await.unwrap().unwrap();
        user
    }

    pub(crate) async fn admitted(&self, user: &UserId) -> JobId {
        match self.ledger().create_conversation(user, new_conversation(user), None).await.unwrap() {
            CreateOutcome::Admitted(admitted) => admitted.job_id,
            other => panic!("not admitted: {other:?}"),
        }
    }

    pub(crate) async fn deferred(&self, user: &UserId) {
        let new = NewConversation { deferred: true, ..new_conversation(user) };
        let outcome = self.clean.create_conversation(user, new, None).await.unwrap();
        assert!(matches!(outcome, CreateOutcome::Deferred(_)), "{outcome:?}");
    }

    /// Admits and claims a job of the user.
    pub(crate) async fn claimed(&self, user: &UserId) -> StoredJob {
        self.admitted(user).await;
        self.claimed_again(user).await
    }

    /// Claims the one queued job of the user.
    pub(crate) async fn claimed_again(&self, user: &UserId) -> StoredJob {
        for queue in [Queue::Creation, Queue::Finalization] {
            let JobClaims { claims, .. } = self.clean.claim(&wanted(queue, 10)).await.unwrap();
            if let Some(claimed) = claims.into_iter().find(|claimed| claimed.user_id == *user) {
                return claimed;
            }
        }
        panic!("nothing to claim")
    }

    /// Runs statements that name no user.
    pub(crate) async fn run_all(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.pool).await.unwrap();
    }

    pub(crate) async fn run(&self, sql: &'static str, user: &UserId) {
        sqlx::query(sql).bind(user.as_str()).execute(&self.pool).await.unwrap();
    }
}

fn settings() -> Settings {
    Settings { connections: 3, policy: policy(), ..Settings::default() }
}

/// A claim by a worker with `slots` free slots, which runs nothing else.
pub(crate) fn wanted(queue: Queue, slots: u32) -> ClaimRequest {
    let worker = WorkerId("w".to_owned());
    ClaimRequest { queue, worker, slots, share: slots, most: slots, running: HashMap::new() }
}

/// A user's one conversation, named after the user.
pub(crate) fn conversation(user: &UserId) -> ConversationId {
    ConversationId::new(format!("c-{user}"))
}

pub(crate) fn new_conversation(user: &UserId) -> NewConversation {
    let text = NewContent::Text {
        text: "We should meet on Monday.".into(),
        text_source: "message".into(),
        text_source_spec: None,
    };
    NewConversation {
        client_session_id: Some("session".to_owned()),
        ..NewConversation::new(conversation(user), text, Source::new("phone"))
    }
}

/// An operator's action on a user.
pub(crate) fn action(user: &UserId) -> OperatorAction {
    OperatorAction::new("olga", format!("fixed for {user}"))
}

/// One action item and one memory.
pub(crate) fn results() -> Results {
    let announcements =
        [EventKind::ConversationCompleted, EventKind::ActionItemCreated, EventKind::MemoryCreated];
    Results {
        items: vec![NewItem { description: "Meet on Monday".to_owned(), due_at: None }],
        memories: vec![NewMemory { content: "Meets on Mondays".to_owned(), category: MemoryCategory::Other }],
        embedding: Some(("m".to_owned(), vec![1.0])),
        engine: "test".to_owned(),
        announcements: announcements.to_vec(),
        ..Results::default()
    }
}

pub(crate) fn completion(claimed: &StoredJob, outcome: Outcome, results: Results) -> Arc<Completion> {
    let same = Arc::new(|one: &str, other: &str| one == other);
    Arc::new(Completion { claimed: claimed.clone(), outcome, results, same })
}
