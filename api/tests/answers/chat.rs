//! Chat with the assistant: messages, streams, history, one turn at a time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use api::{ChatSettings, Scope, Settings};
use assistant::{Call, Converse, Round, Step, Trouble};
use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
    response::Response,
};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use records::UserId;
use serde_json::{Value, json};
use store::{BegunTurn, NewTurn};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::bench::{Bench, quick};

/// Says "echo: " and the question; "add …" makes a task first, "late …" does so when it may go on, "wait" waits until then, "break"
/// breaks.
struct Echo {
    gate: Arc<Semaphore>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Converse for Echo {
    fn id(&self) -> &str {
        "echo"
    }

    fn next<'a>(
        &'a self,
        round: Round<'a>,
        say: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Step, Trouble>> {
        let history: Vec<&str> = round.history.iter().map(|past| past.text.as_str()).collect();
        self.seen.lock().unwrap().push(history.join("|"));
        if round.question == "break" {
            return ready(Err(Trouble::ModelUnavailable)).boxed();
        }
        let task = ["add ", "late "].iter().find_map(|order| round.question.strip_prefix(order));
        let task = task.filter(|_| round.rounds.is_empty());
        async move {
            if ["wait", "late"].iter().any(|order| round.question.starts_with(order))
                && round.rounds.is_empty()
            {
                self.gate.acquire().await.unwrap().forget();
            }
            if let Some(task) = task {
                let call = Call {
                    id: "1".to_owned(),
                    name: "create_action_item".to_owned(),
                    arguments: json!({"description": task}),
                };
                return Ok(Step::Calls { calls: vec![call], text: String::new() });
            }
            say("echo: ");
            say(round.question);
            Ok(Step::Answer { text: format!("echo: {}", round.question), quotes: None })
        }
        .boxed()
    }
}

struct Talk {
    bench: Bench,
    gate: Arc<Semaphore>,
    seen: Arc<Mutex<Vec<String>>>,
}

async fn talk() -> Talk {
    let (gate, seen) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::default()));
    let engine = Arc::new(Echo { gate: Arc::clone(&gate), seen: Arc::clone(&seen) });
    let chat = ChatSettings { engine: engine.clone(), embedded: engine, ..ChatSettings::default() };
    Talk { bench: Bench::with(Settings { chat, ..quick() }).await, gate, seen }
}

fn request(key: &str, body: &Value) -> Request<Body> {
    Request::post("/v2/messages")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

fn for_json(key: &str, body: &Value) -> Request<Body> {
    let mut request = request(key, body);
    request.headers_mut().insert("accept", "application/json".parse().unwrap());
    request
}

async fn stream_of(response: Response) -> String {
    String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

/// Without the database the user seems to have no apps: a 404 would say that the app is gone.
#[tokio::test]
async fn chat_of_an_app_is_503_and_not_404_while_the_database_does_not_answer() {
    let Talk { bench, .. } = talk().await;
    let ask = async || {
        let mut request = for_json(&bench.key, &json!({"text": "Hello"}));
        *request.uri_mut() = "/v2/messages?app_id=x".parse().unwrap();
        bench.send(request).await.status
    };
    let held = bench.database.hold_locks("lock table users in access exclusive mode").await;
    assert_eq!(ask().await, StatusCode::SERVICE_UNAVAILABLE);
    drop(held);
    assert_eq!(ask().await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn chat_message_is_answered_in_one_body_and_stored() {
    let Talk { bench, .. } = talk().await;
    let answer = bench.send(for_json(&bench.key, &json!({"text": "add Call Tom"}))).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.body["text"], "echo: add Call Tom");
    assert_eq!(answer.body["status"], "completed");
    assert_eq!(answer.body["engine"], "echo");
    assert_eq!(answer.body["tools"][0]["name"], "create_action_item");
    assert_eq!(answer.body["sources"][0]["kind"], "action_item");
    let items = bench.get("/v1/dev/user/action-items").await;
    assert_eq!(items.body[0]["description"], "Call Tom");
    let kept = bench.get("/v2/messages").await;
    assert_eq!(kept.body.as_array().unwrap().len(), 2);
    assert_eq!(kept.body[0]["sender"], "human");
    assert_eq!(kept.body[1], answer.body);
}

#[tokio::test]
async fn chat_turn_is_streamed_as_named_events() {
    let Talk { bench, .. } = talk().await;
    let response = bench.app.clone().oneshot(request(&bench.key, &json!({"text": "add x y"}))).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let stream = stream_of(response).await;
    let names: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, ["status", "tool", "tool", "text", "text", "done"]);
    let last = stream.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let done: Value = serde_json::from_str(&last[6..]).unwrap();
    assert_eq!(done["message"]["text"], "echo: add x y");
}

#[tokio::test]
async fn chat_failure_is_an_event_and_a_stored_message() {
    let Talk { bench, .. } = talk().await;
    let response = bench.app.clone().oneshot(request(&bench.key, &json!({"text": "break"}))).await.unwrap();
    let stream = stream_of(response).await;
    assert!(stream.starts_with("event: error\ndata: {\"code\":\"model_unavailable\""), "{stream}");
    let kept = bench.get("/v2/messages").await;
    assert_eq!(kept.body[1]["status"], "failed");
    assert_eq!(kept.body[1]["error"]["code"], "model_unavailable");
}

#[tokio::test]
async fn chat_has_one_turn_at_a_time_and_a_repeat_starts_none() {
    let Talk { bench, gate, .. } = talk().await;
    let app = bench.app.clone();
    let first = tokio::spawn(app.oneshot(for_json(&bench.key, &json!({"text": "wait", "id": "one"}))));
    while bench.get("/v2/messages").await.body.as_array().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = bench.send(for_json(&bench.key, &json!({"text": "hello"}))).await;
    assert_eq!(second.status, StatusCode::CONFLICT);
    assert!(second.header("retry-after").parse::<u64>().unwrap() >= 1);
    let cleared = bench.ask(&bench.key, Method::DELETE, "/v2/messages", None).await;
    assert_eq!(cleared.status, StatusCode::CONFLICT);
    let repeat = bench.send(for_json(&bench.key, &json!({"text": "wait", "id": "one"}))).await;
    assert_eq!((repeat.status, &repeat.body["status"]), (StatusCode::OK, &json!("running")));
    gate.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().status(), StatusCode::OK);
    let repeat = bench.send(for_json(&bench.key, &json!({"text": "wait", "id": "one"}))).await;
    assert_eq!(repeat.body["text"], "echo: wait");
    assert_eq!(bench.get("/v2/messages").await.body.as_array().unwrap().len(), 2);
    let cleared = bench.ask(&bench.key, Method::DELETE, "/v2/messages", None).await;
    assert_eq!(cleared.body, json!({"success": true}));
    assert_eq!(bench.get("/v2/messages").await.body, json!([]));
}

/// It removed the turn: the thread was looked at before it began, and cleared after.
#[tokio::test]
async fn chat_that_is_cleared_while_a_turn_begins_in_it_is_409_and_keeps_the_turn() {
    let Talk { bench, .. } = talk().await;
    let begun = "lock table chat_messages in share row exclusive mode; \
        insert into chat_messages (user_id, thread, message_id, created_at, sender, text) values \
            ('ann', 'main', '00000000-0000-7000-8000-000000000001', now(), 'human', 'Hello'), \
            ('ann', 'main', '00000000-0000-7000-8000-000000000002', now() + interval '1 microsecond', 'ai', ''); \
        insert into chat_turns (user_id, thread, question_id, reply_id, begun_at, status, running_until) values \
            ('ann', 'main', '00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002', now(), \
             'running', now() + interval '1 minute')";
    let clearing = bench.ask(&bench.key, Method::DELETE, "/v2/messages", None);
    let cleared = bench.database.overtaken_by(begun, clearing).await;
    assert_eq!(cleared.status, StatusCode::CONFLICT);
    assert_eq!(bench.get("/v2/messages").await.body.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn chat_turn_continues_after_a_hang_up() {
    let Talk { bench, gate, .. } = talk().await;
    let response = bench.app.clone().oneshot(request(&bench.key, &json!({"text": "wait"}))).await.unwrap();
    drop(response);
    gate.add_permits(1);
    loop {
        let kept = bench.get("/v2/messages").await;
        if kept.body[1]["status"] == "completed" {
            break assert_eq!(kept.body[1]["text"], "echo: wait");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn chat_turn_of_a_dead_process_reads_as_failed_and_blocks_no_other() {
    let Talk { bench, .. } = talk().await;
    let new = NewTurn {
        thread: "main".to_owned(),
        app_id: None,
        request_id: None,
        question_id: "0199c0de-0000-7000-8000-00000000000a".to_owned(),
        reply_id: "0199c0de-0000-7000-8000-00000000000b".to_owned(),
        text: "lost".to_owned(),
        lease: Duration::from_secs(60),
    };
    let begun = bench.ledger.store().begin_turn(&UserId::new("ann"), &new).await.unwrap();
    assert!(matches!(begun, BegunTurn::Begun(_)));
    assert_eq!(bench.get("/v2/messages").await.body[1]["status"], "running");
    bench.run("update chat_turns set running_until = now() - interval '1 second'").await;
    let lost = bench.get("/v2/messages").await;
    assert_eq!(lost.body[1]["status"], "failed");
    assert_eq!(lost.body[1]["error"]["code"], "interrupted");
    assert_eq!(lost.body[1]["error"]["final"], false, "its process may still be heard of");
    bench.run("update chat_turns set begun_at = begun_at - interval '601 seconds'").await;
    assert_eq!(bench.get("/v2/messages").await.body[1]["error"]["final"], true, "now no more");
    bench.run("update chat_turns set begun_at = begun_at + interval '601 seconds'").await;
    let next = bench.send(for_json(&bench.key, &json!({"text": "hello"}))).await;
    assert_eq!(next.status, StatusCode::OK);
    assert_eq!(bench.get("/v2/messages").await.body[1]["error"]["final"], true, "another message ended it");
    let late = store::FinishedTurn {
        status: "completed",
        trouble: None,
        engine: "late".to_owned(),
        sources: json!([]),
        tools: json!([]),
        text: "too late".to_owned(),
    };
    let kept = bench.ledger.store().finish_turn(&UserId::new("ann"), &new.reply_id, &late).await.unwrap();
    assert!(!kept, "the turn is no longer that process's");
}

/// Asks and lets the turn's lease run out while its engine waits.
async fn ask_and_expire_lease(talk: &Talk, asked: &Value) -> tokio::task::JoinHandle<Response> {
    let app = talk.bench.app.clone();
    let first = for_json(&talk.bench.key, asked);
    let first = tokio::spawn(async move { app.oneshot(first).await.unwrap() });
    while talk.seen.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    talk.bench.run("update chat_turns set running_until = now() - interval '1 second'").await;
    first
}

#[tokio::test]
async fn chat_late_reply_replaces_its_interrupted_error() {
    let talk = talk().await;
    let asked = json!({"text": "wait", "id": "one"});
    let first = ask_and_expire_lease(&talk, &asked).await;
    let bench = &talk.bench;
    let polled = bench.get("/v2/messages").await.body[1].clone();
    assert_eq!((&polled["status"], &polled["error"]["code"]), (&json!("failed"), &json!("interrupted")));
    assert_eq!(polled["error"]["final"], false);
    let repeated = bench.send(for_json(&bench.key, &asked)).await.body;
    assert_eq!(repeated, polled, "a repeat tells the same");
    talk.gate.add_permits(1);
    assert_eq!(first.await.unwrap().status(), StatusCode::OK);
    let kept = bench.get("/v2/messages").await.body[1].clone();
    assert_eq!(
        (&kept["id"], &kept["status"], &kept["error"]),
        (&polled["id"], &json!("completed"), &json!(null))
    );
    assert_eq!(kept["text"], "echo: wait");
    assert_eq!(bench.send(for_json(&bench.key, &asked)).await.body, kept);
}

#[tokio::test]
async fn chat_interrupted_turn_writes_nothing_more() {
    let talk = talk().await;
    let first = ask_and_expire_lease(&talk, &json!({"text": "late Call Tom"})).await;
    talk.gate.add_permits(1);
    assert_eq!(first.await.unwrap().status(), StatusCode::OK);
    let kept = talk.bench.get("/v2/messages").await.body[1].clone();
    assert_eq!((&kept["status"], &kept["error"]["code"]), (&json!("failed"), &json!("interrupted")));
    assert_eq!((&kept["error"]["final"], &kept["tools"]), (&json!(true), &json!([])));
    assert_eq!(talk.bench.get("/v1/dev/user/action-items").await.body, json!([]));
}

/// A process that is frozen for longer than the lease between its renewal and the tool is played by a trigger: what the first
/// renewal writes is over at once.
#[tokio::test]
async fn chat_turn_with_an_expired_lease_runs_no_writing_tool() {
    let talk = talk().await;
    talk.bench
        .run(
            "create function frozen() returns trigger language plpgsql as $$ begin \
                 if old.running_until > clock_timestamp() then \
                     new.running_until := clock_timestamp(); \
                 end if; \
                 return new; end $$; \
             create trigger frozen before update on chat_turns for each row execute function frozen()",
        )
        .await;
    let answer = talk.bench.send(for_json(&talk.bench.key, &json!({"text": "add Call Tom"}))).await;
    assert_eq!(answer.status, StatusCode::OK);
    let tools = answer.body["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["ok"] == false), "{answer:?}");
    assert_eq!(tools.len(), 1, "the lease was there when the tool was called: {answer:?}");
    assert_eq!(talk.bench.get("/v1/dev/user/action-items").await.body, json!([]));
}

#[tokio::test]
async fn chat_engine_receives_the_history() {
    let Talk { bench, seen, .. } = talk().await;
    for text in ["one", "two"] {
        bench.send(for_json(&bench.key, &json!({"text": text}))).await;
    }
    assert_eq!(*seen.lock().unwrap(), ["", "one|echo: one"]);
}

#[tokio::test]
async fn chat_history_is_paged_backwards() {
    let Talk { bench, .. } = talk().await;
    for text in ["one", "two"] {
        bench.send(for_json(&bench.key, &json!({"text": text}))).await;
    }
    let newest = bench.get("/v2/messages?limit=3").await;
    let texts: Vec<&str> =
        newest.body.as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["echo: one", "two", "echo: two"]);
    let link = newest.header("link");
    let path = link.strip_prefix('<').unwrap().split('>').next().unwrap().to_owned();
    let older = bench.get(&path).await;
    assert_eq!(older.body[0]["text"], "one");
    assert_eq!(older.header("link"), "");
    assert_eq!(bench.get("/v2/messages?before=x").await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn chats_are_per_user_and_tools_need_the_keys_scopes() {
    let Talk { bench, .. } = talk().await;
    bench.send(for_json(&bench.key, &json!({"text": "hello"}))).await;
    let bob = bench.person("bob", &[Scope::ChatRead, Scope::ChatWrite]).await;
    assert_eq!(bench.ask(&bob, Method::GET, "/v2/messages", None).await.body, json!([]));
    let answer = bench.send(for_json(&bob, &json!({"text": "add Call Tom"}))).await;
    assert_eq!(answer.body["tools"], json!([]), "the key may not write action items");
    let reader = bench.person("bob", &[Scope::ChatRead]).await;
    assert_eq!(bench.send(for_json(&reader, &json!({"text": "x"}))).await.status, StatusCode::FORBIDDEN);
    let others = bench.ask(&bob, Method::GET, "/v2/messages?app_id=x", None).await;
    assert_eq!(others.body, json!([]));
    let request = Request::post("/v2/messages?app_id=x")
        .header("authorization", format!("Bearer {bob}"))
        .header("accept", "application/json")
        .header("content-type", "application/json")
        .body(Body::from(json!({"text": "x"}).to_string()))
        .unwrap();
    assert_eq!(bench.send(request).await.status, StatusCode::NOT_FOUND, "an app that is not installed");
}

#[tokio::test]
async fn chat_message_length_is_bounded() {
    let Talk { bench, .. } = talk().await;
    for body in [
        json!({}),
        json!({"text": ""}),
        json!({"text": " \n"}),
        json!({"text": "x".repeat(8_001)}),
        json!({"text": "x", "id": ""}),
    ] {
        let answer = bench.send(for_json(&bench.key, &body)).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    }
    assert_eq!(bench.get("/v2/messages").await.body, json!([]));
}
