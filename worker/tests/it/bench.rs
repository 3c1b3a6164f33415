//! `Bench`: a database with one user, and workers whose events a test can wait for.

use std::{sync::Arc, time::Duration};

use ledger::{CreateOutcome, JobView, Ledger, NewContent, NewConversation, StoredJob};
use outbox::{ClaimedDelivery, ClaimedPush, DeliveryPage, DeliveryView, NewEndpoint};
use outside::{Guard, Sender};
use prometheus::{Registry, TextEncoder};
use records::{ActionItem, ConversationId, EventKind, Memory, Source, UserId, WebhookFormat};
use secrecy::SecretString;
use store::{ConversationView, UserChange};
use testbed::TestDatabase;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use worker::{Ended, Health, Metrics, Render, RunEvent, RunObserver, Settings, Worker};

use crate::engines::Script;

/// Nothing in these tests takes this long; what does has hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A database of the test's own with one person in it.
pub(crate) struct Bench {
    pub(crate) ledger: Ledger,
    pub(crate) user: UserId,
    pub(crate) database: TestDatabase,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::deciding_by(job::Policy::default()).await
    }

    pub(crate) async fn deciding_by(policy: job::Policy) -> Self {
        let database = TestDatabase::new().await;
        let ledger =
            Ledger::new(database.options(), ledger::Settings { policy, ..ledger::Settings::default() });
        let user = UserId::new("kim");
        assert!(ledger.store().create_user(&user, &UserChange::default()).await.unwrap());
        Self { ledger, user, database }
    }

    /// Makes an endpoint for `conversation.completed` in the full format, and returns its secret.
    pub(crate) async fn endpoint(&self, id: &str, url: &str) -> SecretString {
        self.endpoint_of(id, url, &[EventKind::ConversationCompleted], WebhookFormat::Full).await
    }

    pub(crate) async fn endpoint_of(
        &self,
        id: &str,
        url: &str,
        events: &[EventKind],
        format: WebhookFormat,
    ) -> SecretString {
        let (id, url, events) = (id.to_owned(), url.to_owned(), events.to_vec());
        let secret = outside::new_secret([7; 32]);
        let new = NewEndpoint { force: true, id, url, events, format, secret: secret.clone() };
        self.ledger.outbox().create_endpoint(&self.user, &new).await.unwrap().unwrap();
        secret
    }

    pub(crate) async fn test_delivery(&self, endpoint: &str, id: &str) {
        self.ledger.outbox().test_delivery(&self.user, endpoint, id).await.unwrap().unwrap();
    }

    pub(crate) async fn deliveries(&self, endpoint: &str) -> Vec<DeliveryView> {
        self.ledger.outbox().deliveries(&self.user, endpoint, &DeliveryPage::first(10)).await.unwrap()
    }

    /// A ledger as another process has it: with a waker of its own, which no commit of this process wakes.
    pub(crate) fn elsewhere(&self) -> Ledger {
        Ledger::new(self.database.options(), ledger::Settings::default())
    }

    /// A conversation that is worth keeping.
    pub(crate) fn talk(&self, id: &str) -> NewConversation {
        let text = "Kim: please send the report on Friday, and book the room for the meeting.".to_owned();
        let text = NewContent::Text { text, text_source: "other_text".to_owned(), text_source_spec: None };
        NewConversation::new(ConversationId::new(id), text, Source::new("external_integration"))
    }

    /// Admits a conversation: its job is queued in `creation`.
    pub(crate) async fn admit(&self, id: &str) -> (ConversationId, job::JobId) {
        let new = self.talk(id);
        match self.ledger.create_conversation(&self.user, new, None).await.unwrap() {
            CreateOutcome::Admitted(admitted) => (admitted.conversation.id, admitted.job_id),
            other => panic!("not admitted: {other:?}"),
        }
    }

    pub(crate) async fn job(&self, id: &job::JobId) -> JobView {
        self.ledger.job(id).await.unwrap().unwrap()
    }

    pub(crate) async fn conversation(&self, id: &ConversationId) -> ConversationView {
        self.ledger.store().conversation(&self.user, id, false).await.unwrap().unwrap()
    }

    /// A worker of this process with one slot per queue.
    pub(crate) fn work(&self, script: &Arc<Script>) -> Working {
        work(self.ledger.clone(), script, Settings { heartbeat: Duration::from_millis(20), ..slots(1) })
    }
}

/// Waits until it is so.
pub(crate) async fn until(is_so: impl Fn() -> bool, else_: &str) {
    let so = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, so).await.expect(else_);
}

/// Settings with that many slots per queue.
pub(crate) fn slots(slots: usize) -> Settings {
    Settings { finalization_concurrency: slots, creation_concurrency: slots, seed: 11, ..Settings::default() }
}

/// Settings whose runs are shown to the test.
pub(crate) fn recorded(settings: Settings) -> (Settings, mpsc::UnboundedReceiver<(StoredJob, RunEvent)>) {
    let (send, events) = mpsc::unbounded_channel();
    (Settings { observer: Arc::new(Recorder(send)), ..settings }, events)
}

/// A worker that runs until it is stopped.
pub(crate) struct Working {
    events: mpsc::UnboundedReceiver<(StoredJob, RunEvent)>,
    pub(crate) soft: CancellationToken,
    pub(crate) hard: CancellationToken,
    pub(crate) health: Health,
    pub(crate) registry: Registry,
    task: JoinHandle<()>,
    _hard: tokio_util::sync::DropGuard,
}

pub(crate) fn work(ledger: Ledger, script: &Arc<Script>, settings: Settings) -> Working {
    work_with(ledger, script, Arc::new(Plain), settings)
}

/// The same with different words in what is sent.
pub(crate) fn work_with(
    ledger: Ledger,
    script: &Arc<Script>,
    render: Arc<dyn Render>,
    settings: Settings,
) -> Working {
    // Fails when another test of this process was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (settings, events) = recorded(settings);
    let registry = Registry::new();
    let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let health = Health::default();
    let worker = Worker {
        ledger,
        engines: script.engines(),
        sender: Sender::new(guard).unwrap(),
        render,
        metrics: Metrics::new(&registry).unwrap(),
        settings,
        health: health.clone(),
    };
    let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
    let task = tokio::spawn(worker.run(soft.clone(), hard.clone()));
    Working { events, soft, hard: hard.clone(), health, registry, task, _hard: hard.drop_guard() }
}

impl Working {
    /// The next event of any run.
    pub(crate) async fn next(&mut self) -> (StoredJob, RunEvent) {
        let next = tokio::time::timeout(PATIENCE, self.events.recv()).await;
        next.expect("no run does anything").expect("the worker is gone")
    }

    /// Waits until `stage` begins.
    pub(crate) async fn until_started(&mut self, stage: &str) -> StoredJob {
        loop {
            if let (claimed, RunEvent::StageStarted { stage: started }) = self.next().await
                && started == stage
            {
                return claimed;
            }
        }
    }

    /// Waits until a run ends.
    pub(crate) async fn until_ended(&mut self) -> (StoredJob, Ended) {
        loop {
            if let (claimed, RunEvent::RunEnded { end, .. }) = self.next().await {
                return (claimed, end);
            }
        }
    }

    /// Asks the worker to stop, waits until it has, and gives what was not yet waited for.
    pub(crate) async fn stop(mut self) -> Vec<RunEvent> {
        self.soft.cancel();
        self.stopped().await;
        let mut rest = Vec::new();
        while let Ok((_, event)) = self.events.try_recv() {
            rest.push(event);
        }
        rest
    }

    /// Stops the worker; what it has counted until then.
    pub(crate) async fn stop_and_count(self) -> String {
        let registry = self.registry.clone();
        self.stop().await;
        TextEncoder::new().encode_to_string(&registry.gather()).unwrap()
    }

    /// Waits until the worker has stopped.
    pub(crate) async fn stopped(&mut self) {
        tokio::time::timeout(PATIENCE, &mut self.task).await.expect("the worker does not stop").unwrap();
    }

    /// Waits until the metrics have that line.
    pub(crate) async fn until_counted(&self, line: &str) {
        until(|| self.metrics().lines().any(|there| there == line), "nobody counts it").await;
    }

    pub(crate) fn metrics(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap()
    }
}

struct Recorder(mpsc::UnboundedSender<(StoredJob, RunEvent)>);

impl RunObserver for Recorder {
    fn observe(&self, claimed: &StoredJob, event: RunEvent) {
        let _nobody_listens_any_more = self.0.send((claimed.clone(), event));
    }
}

/// Names what happened, and counts nothing else.
struct Plain;

impl Render for Plain {
    fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        memory: Option<&Memory>,
        item: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        let event = delivery.event.map_or("webhook.test", |event| event.as_str());
        let title = conversation.map(|view| view.conversation.structured.title.clone());
        let memory = memory.map(|memory| memory.content.as_str());
        let item = item.map(|item| item.description.as_str());
        let data = serde_json::json!({ "title": title, "memory": memory, "item": item });
        Some(serde_json::json!({ "type": event, "data": data }).to_string().into_bytes())
    }

    fn push(&self, push: &ClaimedPush) -> Vec<u8> {
        push.pushed.words().as_bytes().to_vec()
    }
}

/// Has no words for anything, and panics.
pub(crate) struct PanickingRender;

impl Render for PanickingRender {
    fn body(
        &self,
        _: &ClaimedDelivery,
        _: Option<&ConversationView>,
        _: Option<&Memory>,
        _: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        panic!("no body")
    }

    fn push(&self, _: &ClaimedPush) -> Vec<u8> {
        panic!("no push")
    }
}
