//! BYOK: requests with the user's own model keys, and requests of users who require them but sent none.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use api::{ByokPermit, ByokRuns, Settings};
use axum::{
    body::Body,
    http::{Method, Request},
};
use job::{Epoch, FailureCode, JobId, Queue, WorkerId};
use ledger::{LeaseToken, StoredJob, Transition};
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use store::UserChange;

use crate::bench::{Answer, Bench, P, quick};

const KEY: &str = "sk-kanarienvogel";

/// What was handed to the keyed runs.
#[derive(Clone, Debug, PartialEq)]
enum HandedOver {
    Run { job: JobId, key: String },
    Wait { job: JobId, key: String },
}

/// Records what is handed to the keyed runs, and runs nothing.
#[derive(Debug)]
struct RecordedRuns {
    has_place: bool,
    has_slot: bool,
    handed: Arc<Mutex<Vec<HandedOver>>>,
}

struct FakePermit {
    has_slot: bool,
    handed: Arc<Mutex<Vec<HandedOver>>>,
}

impl ByokRuns for RecordedRuns {
    fn permit(&self, _: &UserId) -> Option<Box<dyn ByokPermit>> {
        let seat = FakePermit { has_slot: self.has_slot, handed: Arc::clone(&self.handed) };
        self.has_place.then(|| Box::new(seat) as Box<dyn ByokPermit>)
    }
}

impl ByokPermit for FakePermit {
    fn claimant(&self) -> Option<WorkerId> {
        self.has_slot.then(|| WorkerId("keyed".to_owned()))
    }

    fn run(self: Box<Self>, claimed: StoredJob, key: SecretString) {
        let key = key.expose_secret().to_owned();
        self.handed.lock().unwrap().push(HandedOver::Run { job: claimed.job.id, key });
    }

    fn wait(self: Box<Self>, job: JobId, key: SecretString) {
        let key = key.expose_secret().to_owned();
        self.handed.lock().unwrap().push(HandedOver::Wait { job, key });
    }
}

struct Setup {
    bench: Bench,
    handed: Arc<Mutex<Vec<HandedOver>>>,
}

impl Setup {
    async fn with(has_place: bool, has_slot: bool, settings: Settings) -> Self {
        let handed = Arc::<Mutex<Vec<HandedOver>>>::default();
        let keyed = Arc::new(RecordedRuns { has_place, has_slot, handed: Arc::clone(&handed) });
        Self { bench: Bench::with(Settings { keyed, ..settings }).await, handed }
    }

    async fn open() -> Self {
        Self::with(true, true, quick()).await
    }

    fn handed_over(&self) -> Vec<HandedOver> {
        self.handed.lock().unwrap().clone()
    }

    /// Waits until something was handed over, and returns it.
    async fn until_handed_over(&self) -> Vec<HandedOver> {
        let until = async {
            while self.handed_over().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), until).await.expect("nothing is handed over");
        self.handed_over()
    }

    async fn mark(&self) {
        let change = UserChange { requires_byok: Some(true), ..UserChange::default() };
        self.bench.ledger.change_user(&UserId::new("ann"), &change).await.unwrap().unwrap();
    }

    async fn ask(&self, path: &str, body: &Value, keys: &[&str]) -> Answer {
        self.ask_with_idempotency_key(None, path, body, keys).await
    }

    async fn ask_with_idempotency_key(
        &self,
        name: Option<&str>,
        path: &str,
        body: &Value,
        keys: &[&str],
    ) -> Answer {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.bench.key))
            .header("content-type", "application/json");
        for key in keys {
            request = request.header("X-BYOK-OpenAI", *key);
        }
        if let Some(name) = name {
            request = request.header("Idempotency-Key", name);
        }
        self.bench.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    async fn deferred(&self) -> String {
        let body = json!({ "transcript_segments": spoken(), "defer_processing": true });
        let answer = self.ask(&format!("{P}/conversations/from-segments"), &body, &[KEY]).await;
        assert_eq!(answer.body["status"], "in_progress", "{answer:?}");
        answer.body["id"].as_str().unwrap().to_owned()
    }

    async fn finalize(&self, id: &str, keys: &[&str]) -> Answer {
        self.ask(&format!("/v1/conversations/{id}/finalize"), &json!({}), keys).await
    }

    async fn poll(&self, id: &str) -> (JobId, Value) {
        let poll = self.bench.get(&format!("/v1/conversations/{id}/finalization")).await.body;
        (JobId::from_text(poll["job_id"].as_str().unwrap()), poll["status"].clone())
    }
}

fn spoken() -> Value {
    json!([{ "text": "Buy milk.", "start": 0, "end": 1, "id": "one" }])
}

fn run(job: &JobId) -> HandedOver {
    HandedOver::Run { job: job.clone(), key: KEY.to_owned() }
}

fn wait(job: &JobId) -> HandedOver {
    HandedOver::Wait { job: job.clone(), key: KEY.to_owned() }
}

#[tokio::test]
async fn byok_finalize_is_leased_before_the_answer() {
    let setup = Setup::open().await;
    let id = setup.deferred().await;
    assert_eq!(setup.handed_over(), [], "nothing runs before the finalize");

    let answer = setup.finalize(&id, &[KEY]).await;

    assert_eq!((answer.status.as_u16(), &answer.body["conversation"]["status"]), (200, &json!("processing")));
    let (job, status) = setup.poll(&id).await;
    assert_eq!(status, "leased");
    assert_eq!(setup.handed_over(), [run(&job)]);
    assert_eq!(setup.bench.complete_all(Queue::Finalization).await, 0, "no queue knows of it");
}

#[tokio::test]
async fn byok_process_in_progress_and_reprocess_use_the_request_keys() {
    let setup = Setup::open().await;
    let id = setup.deferred().await;
    assert_eq!(setup.ask("/v1/conversations", &json!({}), &[KEY]).await.status, 200);
    let (first, _) = setup.poll(&id).await;
    assert_eq!(setup.handed_over(), [run(&first)]);

    let id = setup.deferred().await;
    setup.finalize(&id, &[]).await;
    assert_eq!(setup.bench.complete_all(Queue::Finalization).await, 1);
    let path = format!("/v1/conversations/{id}/reprocess");
    assert_eq!(setup.ask(&path, &json!({}), &[KEY]).await.status, 200);
    let (second, _) = setup.poll(&id).await;
    assert_eq!(setup.handed_over(), [run(&first), run(&second)]);
    assert_eq!(setup.bench.complete_all(Queue::Creation).await, 0, "no queue knows of it");
}

#[tokio::test]
async fn byok_hang_up_leaves_no_lease_without_a_run() {
    let setup = Setup::open().await;
    let id = setup.deferred().await;
    let holder = setup.bench.database.hold_locks("select from conversations for update").await;
    tokio::select! {
        answer = setup.finalize(&id, &[KEY]) => panic!("it waits for whoever holds it: {answer:?}"),
        () = setup.bench.database.until_somebody_waits() => {}
    }
    drop(holder);

    let handed = setup.until_handed_over().await;

    let (job, status) = setup.poll(&id).await;
    assert_eq!((handed, status), (vec![run(&job)], json!("leased")));
}

#[tokio::test]
async fn byok_without_a_free_slot_parks_the_job_and_queues_the_keys() {
    let setup = Setup::with(true, false, quick()).await;
    let id = setup.deferred().await;
    assert_eq!(setup.finalize(&id, &[KEY]).await.status, 200);
    let (job, status) = setup.poll(&id).await;
    assert_eq!(status, "blocked_byok");
    assert_eq!(setup.handed_over(), [wait(&job)]);
}

#[tokio::test]
async fn byok_with_a_full_queue_changes_nothing() {
    let setup = Setup::with(false, false, quick()).await;
    let id = setup.deferred().await;
    let text = json!({ "text": "Buy milk." });
    let before = setup.bench.get(&format!("{P}/conversations")).await.body;
    for answer in
        [setup.finalize(&id, &[KEY]).await, setup.ask(&format!("{P}/conversations"), &text, &[KEY]).await]
    {
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "30"), "{answer:?}");
        let words = "Too many conversations wait for a run with their own keys";
        assert_eq!(answer.body, json!({ "detail": words }));
    }
    assert_eq!(setup.bench.get(&format!("{P}/conversations")).await.body, before);
    assert_eq!(setup.bench.get(&format!("{P}/conversations/{id}")).await.body["status"], "in_progress");
}

#[tokio::test]
async fn byok_user_without_keys_is_parked_until_keys_arrive() {
    let setup = Setup::open().await;
    setup.mark().await;
    let id = setup.deferred().await;
    assert_eq!(setup.finalize(&id, &[]).await.status, 200);
    let (job, status) = setup.poll(&id).await;
    assert_eq!((status, setup.handed_over()), (json!("blocked_byok"), vec![]));

    assert_eq!(setup.finalize(&id, &[KEY]).await.status, 200);
    assert_eq!(setup.handed_over(), [wait(&job)], "whoever holds the keys claims it");
    assert_eq!(setup.poll(&id).await.0, job, "it is the same job");
}

#[tokio::test]
async fn byok_request_keys_bind_the_job_of_an_ordinary_user() {
    let setup = Setup::with(true, false, quick()).await;
    let made = setup.ask(&format!("{P}/conversations"), &json!({ "text": "Buy milk." }), &[KEY]).await;
    assert_eq!(made.body["status"], "processing");
    assert_eq!(setup.bench.complete_all(Queue::Creation).await, 0, "our own key never runs it");
    let without = setup.ask(&format!("{P}/conversations"), &json!({ "text": "Buy tea." }), &[]).await;
    assert_eq!(without.status, 200);
    assert_eq!(setup.bench.complete_all(Queue::Creation).await, 1);
}

#[tokio::test]
async fn byok_repeated_create_resumes_the_job_in_inline_mode_too() {
    for finalize_enabled in [true, false] {
        let setup = Setup::with(true, true, Settings { finalize_enabled, ..quick() }).await;
        setup.mark().await;
        let path = format!("{P}/conversations/from-segments");
        let body = json!({ "transcript_segments": spoken(), "client_session_id": "s1" });
        let made = setup.ask(&path, &body, &[]).await;
        assert_eq!((made.status.as_u16(), &made.body["status"]), (200, &json!("processing")));
        let id = made.body["id"].as_str().unwrap().to_owned();
        let (job, status) = setup.poll(&id).await;
        assert_eq!((status, setup.handed_over()), (json!("blocked_byok"), vec![]));
        let poll = setup.bench.get(&format!("/v1/conversations/{id}/finalization")).await.body;
        assert_eq!(poll["can_finalize_again"], finalize_enabled, "finalize is 503 without durable dispatch");

        let again = setup.ask(&path, &body, &[KEY]).await;

        assert_eq!((again.status.as_u16(), &again.body), (200, &made.body));
        assert_eq!(setup.handed_over(), [wait(&job)]);
        let fresh = json!({ "transcript_segments": spoken(), "client_session_id": "s2" });
        let made = setup.ask(&path, &fresh, &[KEY]).await;
        let (job, _) = setup.poll(made.body["id"].as_str().unwrap()).await;
        assert_eq!(setup.handed_over().last(), Some(&run(&job)));
    }
}

/// Ends the run with keys as failed for good.
async fn end_run(setup: &Setup, job: &JobId) {
    let token = LeaseToken { user_id: UserId::new("ann"), job_id: job.clone(), epoch: Epoch(1) };
    let edge = Transition::Fail { code: FailureCode::InvalidJob, retry_after: None, jitter_permille: 0 };
    setup.bench.ledger.settle(&token, edge, None).await.unwrap();
}

#[tokio::test]
async fn byok_repeated_deferred_create_passes_its_keys_on() {
    let path = format!("{P}/conversations/from-segments");
    let body = json!({ "transcript_segments": spoken(), "client_session_id": "s", "defer_processing": true });
    let setup = Setup::open().await;
    let made = setup.ask(&path, &body, &[KEY]).await;
    assert_eq!(
        (&made.body["status"], setup.handed_over()),
        (&json!("in_progress"), vec![]),
        "nothing is to be run"
    );
    let id = made.body["id"].as_str().unwrap().to_owned();
    setup.finalize(&id, &[KEY]).await;
    let (first, _) = setup.poll(&id).await;
    end_run(&setup, &first).await;

    let again = setup.ask(&path, &body, &[KEY]).await;

    assert_eq!((again.status.as_u16(), &again.body["status"]), (200, &json!("processing")));
    let (second, _) = setup.poll(&id).await;
    assert_eq!(setup.handed_over(), [run(&first), run(&second)]);
    assert_eq!(setup.bench.complete_all(Queue::Creation).await, 0, "our own key never runs it");
}

#[tokio::test]
async fn byok_repeated_deferred_create_waits_while_the_queue_is_full() {
    let path = format!("{P}/conversations/from-segments");
    let body = json!({ "transcript_segments": spoken(), "client_session_id": "s", "defer_processing": true });
    let setup = Setup::with(false, false, quick()).await;
    let made = setup.ask(&path, &body, &[KEY]).await;
    assert_eq!((made.status.as_u16(), &made.body["status"]), (200, &json!("in_progress")));
    let id = made.body["id"].as_str().unwrap().to_owned();
    setup.finalize(&id, &[]).await;
    let claims = setup.bench.claim_all(Queue::Finalization).await;
    end_run(&setup, &claims[0].job.id).await;
    let again = setup.ask(&path, &body, &[KEY]).await;
    assert_eq!((again.status.as_u16(), setup.poll(&id).await.1), (200, json!("blocked_byok")));
}

#[tokio::test]
async fn byok_replayed_idempotent_create_passes_its_keys_on() {
    let setup = Setup::with(true, false, quick()).await;
    for (path, body) in [
        (format!("{P}/conversations"), json!({ "text": "Buy milk." })),
        (format!("{P}/conversations/from-segments"), json!({ "transcript_segments": spoken() })),
    ] {
        setup.handed.lock().unwrap().clear();
        let ask = async |keys| setup.ask_with_idempotency_key(Some("k"), &path, &body, keys).await;
        let made = ask(&[KEY]).await;
        let (job, _) = setup.poll(made.body["id"].as_str().unwrap()).await;
        assert_eq!(setup.handed_over(), [wait(&job)]);
        // The process that held them is gone.
        let again = ask(&[KEY]).await;
        assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &made.body));
        assert_eq!(setup.handed_over(), [wait(&job), wait(&job)]);
        assert_eq!(ask(&["sk two"]).await.status, 422);
        assert_eq!(ask(&[]).await.status, 200);
        assert_eq!(setup.handed_over().len(), 2);
    }
    let note = json!({ "content": "She has a cat." });
    for _ in 0..2 {
        let noted = setup.ask_with_idempotency_key(Some("k"), &format!("{P}/memories"), &note, &[KEY]).await;
        assert_eq!(noted.status, 200);
    }
    assert_eq!(setup.handed_over().len(), 2, "a memory has no job");
}

#[tokio::test]
async fn byok_keys_do_not_change_completed_conversations() {
    let setup = Setup::open().await;
    let id = setup.deferred().await;
    setup.finalize(&id, &[]).await;
    assert_eq!(setup.bench.complete_all(Queue::Finalization).await, 1);
    let answer = setup.finalize(&id, &[KEY]).await;
    assert_eq!((answer.status.as_u16(), &answer.body["conversation"]["status"]), (200, &json!("completed")));
    assert_eq!(setup.poll(&id).await.1, "completed");
    let unknown = setup.finalize("unknown", &[KEY]).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn byok_invalid_header_is_refused_without_repeating_it() {
    let setup = Setup::open().await;
    let id = setup.deferred().await;
    let body = json!({ "text": "Buy milk.", "transcript_segments": spoken() });
    for path in [
        format!("/v1/conversations/{id}/finalize"),
        format!("/v1/conversations/{id}/reprocess"),
        "/v1/conversations".to_owned(),
        format!("{P}/conversations"),
        format!("{P}/conversations/from-segments"),
    ] {
        for wrong in [&[""][..], &["sk-kanarien vogel"], &["sk-kanarienvogel", "sk-kanarienvogel"]] {
            let answer = setup.ask(&path, &body, wrong).await;
            assert_eq!(answer.kinds(), [("value_error", &json!(["header", "x-byok-openai"]))], "{path}");
            assert!(!answer.body.to_string().contains("kanarien"), "{answer:?}");
        }
    }
    assert_eq!(setup.handed_over(), []);
}
