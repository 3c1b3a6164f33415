//! Faults under a live session: the database, photo storage, and keys that arrive late.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use api::{ByokPermit, ByokRuns, Settings};
use job::{JobId, WorkerId};
use ledger::StoredJob;
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::client::Setup;
use crate::bench::quick;

/// Ends every session of the database except its own.
const CUT: &str = "select pg_terminate_backend(pid) from pg_stat_activity \
     where datname = current_database() and pid <> pg_backend_pid()";

#[tokio::test]
async fn live_database_disconnects_lose_or_double_no_segment() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    let said: Vec<String> = (0..12).map(|number| format!("This is line {number}.")).collect();
    for (number, text) in said.iter().enumerate() {
        let start = number as f64 * 40.0;
        line.send(json!({ "type": "suggested_transcript", "segments": [
            { "id": format!("line-{number}"), "text": text, "start": start, "end": start + 1.0 },
        ] }))
        .await;
        if number % 3 == 1 {
            setup.bench.run(CUT).await;
        }
        let shown = line.until("segments").await;
        assert_eq!(shown[0]["text"], text.as_str(), "it is stored before it is shown");
    }
    let id = setup.id_in_progress().await;
    assert_eq!(setup.texts(&id).await, said);
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 200);
    assert_eq!(setup.count("select count(*) from finalization_jobs").await, 1);
}

/// Every picture is refused as a full disk refuses it, and counted.
const PICTURES_REFUSED: [&str; 3] = [
    "create sequence pictures_tried",
    "create function refuse_picture() returns trigger language plpgsql as $$ begin \
     perform nextval('pictures_tried'); raise exception 'full' using errcode = '53100'; end $$",
    "create trigger refuse_picture before insert on photos for each row execute function refuse_picture()",
];

#[tokio::test]
async fn live_delayed_picture_goes_into_the_next_conversation() {
    let setup = Setup::new().await;
    let mut line = setup.line("custom_stt=enabled").await.ready().await;
    line.say(&["First."], 0.0).await;
    line.until("segments").await;
    let first = setup.id_in_progress().await;
    for statement in PICTURES_REFUSED {
        setup.bench.run(statement).await;
    }
    let picture =
        json!({ "type": "image_chunk", "id": "p1", "index": 0, "total": 1, "data": "/9j/BwcHBwcH" });
    line.send(picture).await;
    // After five refusals the next try is one and a half seconds away.
    setup.until(5, "select case when is_called then last_value else 0 end from pictures_tried").await;
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 200);
    assert_eq!(line.until("memory_processing_started").await["memory"]["id"], first.as_str());
    line.say(&["Second."], 100.0).await;
    line.until("segments").await;
    let second = setup.id_in_progress().await;
    setup.bench.run("drop trigger refuse_picture on photos").await;
    setup.until(1, "select count(*) from photos").await;
    line.say(&["Third."], 102.0).await;
    let shown = line.next().await.unwrap();
    assert_eq!(shown[0]["text"], "Second. Third.", "the second is not said to be over: {shown}");
    assert_eq!(setup.texts(&second).await, ["Second. Third."]);
    let opened_once = "select count(*) from conversations c join photos p using (user_id, conversation_id) \
         where c.status = 'in_progress' and c.live_epoch = 1";
    assert_eq!(setup.count(opened_once).await, 1, "the picture is in the second, which was opened once");
}

/// Records which jobs are handed over with which keys, and runs nothing.
#[derive(Clone, Debug, Default)]
struct Waiting(Arc<Mutex<Vec<(JobId, String)>>>);

impl ByokRuns for Waiting {
    fn permit(&self, _: &UserId) -> Option<Box<dyn ByokPermit>> {
        Some(Box::new(self.clone()))
    }
}

impl ByokPermit for Waiting {
    fn claimant(&self) -> Option<WorkerId> {
        None
    }

    fn run(self: Box<Self>, _: StoredJob, _: SecretString) {}

    fn wait(self: Box<Self>, job: JobId, key: SecretString) {
        self.0.lock().unwrap().push((job, key.expose_secret().to_owned()));
    }
}

#[tokio::test]
async fn live_byok_session_resumes_parked_jobs_of_its_user_only() {
    let waiting = Waiting::default();
    let setup = Setup::with(Settings { keyed: Arc::new(waiting.clone()), ..quick() }).await;
    setup.bench.run("update users set requires_byok = true").await;
    let mut line = setup.line("custom_stt=enabled&conversation_timeout=2").await.ready().await;
    line.say(&["Mine alone."], 0.0).await;
    line.until("memory_processing_started").await;
    assert_eq!(setup.count("select count(*) from finalization_jobs where status = 'blocked_byok'").await, 1);
    let bob = setup.bench.person("bob", api::Scope::ALL).await;
    let own = [("x-byok-openai", "sk-bobs")];
    let other = setup.try_connect(&bob, "uid=bob&custom_stt=enabled", &own).await.unwrap().ready().await;
    let key = setup.bench.key.clone();
    let own = [("x-byok-openai", "sk-mine")];
    let query = "uid=ann&custom_stt=enabled&client_device_id=b";
    let line = setup.try_connect(&key, query, &own).await.unwrap().ready().await;
    let handed = async {
        while waiting.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), handed).await.expect("the job is never resumed");
    let pool = setup.bench.database.pool(1).await;
    let parked: String =
        sqlx::query_scalar("select job_id from finalization_jobs").fetch_one(&pool).await.unwrap();
    let handed = waiting.0.lock().unwrap().clone();
    assert_eq!(handed, [(JobId::from_text(&parked), "sk-mine".to_owned())], "once, with its own user's key");
    drop((line, other));
}
