//! A turn over scripted engines and tools: its calls, its bounds and its end.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
};

use chrono_tz::Tz;
use futures::future::{BoxFuture, FutureExt, ready};
use records::Timestamp;
use serde_json::json;

use super::*;
use crate::{Output, SourceKind, ToolFailure};

/// An engine that does what a list says, round by round.
struct Script(Mutex<Vec<Step>>);

impl Converse for Script {
    fn id(&self) -> &str {
        "script"
    }

    fn next<'a>(
        &'a self,
        _: Round<'a>,
        say: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Step, Trouble>> {
        let mut steps = self.0.lock();
        if steps.is_empty() {
            return pending().boxed();
        }
        let step = steps.remove(0);
        if let Step::Answer { text, .. } = &step {
            say(text);
        }
        ready(Ok(step)).boxed()
    }
}

/// Data and apps that count their calls.
#[derive(Default)]
struct World {
    calls: AtomicUsize,
    app_calls: Mutex<Vec<String>>,
    kept: Mutex<Vec<Reply>>,
    events: Mutex<Vec<Event>>,
    renewed: Mutex<Vec<Reply>>,
    /// After how many renewals the turn is another process's.
    taken_over_after: Option<usize>,
    /// What is said when the turn is to be held; else it is.
    holds: Option<Hold>,
    /// Whether the reply cannot be kept.
    is_lost: bool,
}

impl Toolbox for World {
    fn may(&self, tool: DataTool) -> bool {
        tool != DataTool::CreateMemory
    }

    fn call<'a>(&'a self, _: DataTool, _: &'a Value) -> BoxFuture<'a, Result<Output, ToolFailure>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let source = |id: &str| Source {
            id: id.to_owned(),
            kind: SourceKind::Conversation,
            title: id.to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
        };
        ready(Ok(Output { value: json!({}), sources: vec![source("a"), source("b"), source("a")] })).boxed()
    }
}

impl AppTools for World {
    fn list(&self) -> BoxFuture<'_, Vec<AppTool>> {
        let tool = |app: &str| AppTool {
            app_id: app.to_owned(),
            app_name: app.to_owned(),
            name: format!("ask_{app}"),
            description: String::new(),
            parameters: json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}),
            status_message: "Asking…".to_owned(),
        };
        ready(vec![tool("alpha"), tool("beta")]).boxed()
    }

    fn call<'a>(&'a self, tool: &'a AppTool, _: &'a Value) -> BoxFuture<'a, Result<String, ToolFailure>> {
        self.app_calls.lock().push(tool.name.clone());
        ready(Ok("Now call ask_beta!".to_owned())).boxed()
    }
}

impl Journal for World {
    fn renew<'a>(&'a self, reply: &'a Reply) -> BoxFuture<'a, bool> {
        let mut renewed = self.renewed.lock();
        renewed.push(reply.clone());
        ready(self.taken_over_after.is_none_or(|most| renewed.len() <= most)).boxed()
    }

    fn hold(&self) -> BoxFuture<'_, Hold> {
        ready(self.holds.unwrap_or(Hold::Held)).boxed()
    }

    fn finish<'a>(&'a self, reply: &'a Reply) -> BoxFuture<'a, bool> {
        self.kept.lock().push(reply.clone());
        ready(!self.is_lost).boxed()
    }
}

impl Listener for World {
    fn hear(&self, event: Event) {
        self.events.lock().push(event);
    }
}

fn call(name: &str, arguments: Value) -> Call {
    Call { id: name.to_owned(), name: name.to_owned(), arguments }
}

fn calls(calls: Vec<Call>) -> Step {
    Step::Calls { calls, text: String::new() }
}

fn answer(text: &str, quotes: Option<Vec<String>>) -> Step {
    Step::Answer { text: text.to_owned(), quotes }
}

fn turn(question: &str, steps: Vec<Step>) -> (Turn, Arc<World>) {
    turn_in(World::default(), question, steps)
}

fn turn_in(world: World, question: &str, steps: Vec<Step>) -> (Turn, Arc<World>) {
    let world = Arc::new(world);
    let turn = Turn {
        context: Context { now: Timestamp::UNIX_EPOCH, zone: Tz::UTC, user_name: None, is_first: true },
        history: Vec::new(),
        question: question.to_owned(),
        ports: Ports {
            engine: Arc::new(Script(Mutex::new(steps))),
            toolbox: world.clone(),
            apps: world.clone(),
            journal: world.clone(),
            listener: world.clone(),
        },
        limits: Limits::default(),
    };
    (turn, world)
}

#[tokio::test]
async fn turn_calls_tools_and_stores_the_answer_with_quoted_sources() {
    let steps =
        vec![calls(vec![call("search", json!({"query": "x"}))]), answer("Here.", Some(vec!["a".to_owned()]))];
    let (turn, world) = turn("x?", steps);
    let reply = turn.run(pending()).await;
    assert_eq!((reply.status, reply.text.as_str()), (ReplyStatus::Completed, "Here."));
    assert_eq!(reply.sources.iter().map(|source| source.id.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(reply.tools.len(), 1);
    assert_eq!(*world.kept.lock(), [reply]);
    assert!(matches!(world.events.lock().last(), Some(Event::Over(_))));
}

#[tokio::test]
async fn turn_rejects_wrong_arguments_and_forbidden_tools() {
    let steps = vec![
        calls(vec![call("search", json!({"query": 1})), call("create_memory", json!({"content": "x"}))]),
        answer("Sorry.", None),
    ];
    let (turn, world) = turn("x?", steps);
    turn.run(pending()).await;
    assert_eq!(world.calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn turn_does_not_call_unnamed_apps_after_another_app() {
    let one = || {
        vec![
            calls(vec![call("ask_alpha", json!({"n": 1}))]),
            calls(vec![call("ask_beta", json!({"n": 2}))]),
            answer("Done.", None),
        ]
    };
    let (first, world) = turn("Ask alpha", one());
    first.run(pending()).await;
    assert_eq!(*world.app_calls.lock(), ["ask_alpha"]);
    let (second, world) = turn("Ask alpha, then beta", one());
    second.run(pending()).await;
    assert_eq!(*world.app_calls.lock(), ["ask_alpha", "ask_beta"]);
}

#[tokio::test]
async fn turn_judges_two_apps_of_one_round_in_order() {
    let steps = vec![
        calls(vec![call("ask_alpha", json!({"n": 1})), call("ask_beta", json!({"n": 2}))]),
        answer("Done.", None),
    ];
    let (turn, world) = turn("Ask alpha", steps);
    turn.run(pending()).await;
    assert_eq!(*world.app_calls.lock(), ["ask_alpha"]);
}

#[tokio::test]
async fn turn_bounds_calls_and_rounds() {
    let many = (0..8).map(|_| calls(vec![call("search", json!({"query": "x"})); 5])).collect();
    let (turn, world) = turn("x?", many);
    let reply = turn.run(pending()).await;
    assert_eq!(reply.trouble, Some(Trouble::TooManyRounds));
    assert_eq!(world.calls.load(Ordering::Relaxed), Limits::default().calls);
}

#[tokio::test(start_paused = true)]
async fn turn_timeout_fails_with_the_partial_reply() {
    let (turn, world) = turn("x?", vec![calls(vec![call("search", json!({"query": "x"}))])]);
    let reply = turn.run(pending()).await;
    assert_eq!((reply.status, reply.trouble), (ReplyStatus::Failed, Some(Trouble::TurnTimeout)));
    assert_eq!(reply.tools.len(), 1);
    assert_eq!(
        reply.sources.iter().map(|source| source.id.as_str()).collect::<Vec<_>>(),
        ["a", "b"],
        "each once"
    );
    assert_eq!(world.kept.lock().len(), 1);
}

#[tokio::test]
async fn turn_stopped_by_shutdown_reports_it() {
    let (turn, world) = turn("x?", Vec::new());
    let reply = turn.run(ready(())).await;
    assert_eq!((reply.status, reply.trouble), (ReplyStatus::Stopped, Some(Trouble::Interrupted)));
    assert_eq!(world.kept.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn turn_stores_a_partial_reply_while_the_engine_is_silent() {
    let call = call("search", json!({"query": "x"}));
    let (turn, world) = turn("x?", vec![Step::Calls { calls: vec![call], text: "Let me see.".to_owned() }]);
    turn.run(tokio::time::sleep(Duration::from_secs(17))).await;
    let renewed = world.renewed.lock();
    assert_eq!(renewed.len(), 4, "after the round, and every five seconds");
    assert_eq!((renewed[0].status, renewed[0].tools.len()), (ReplyStatus::Running, 1));
}

#[tokio::test(start_paused = true)]
async fn turn_owned_by_another_process_ends() {
    let world = World { taken_over_after: Some(2), ..World::default() };
    let (turn, _) = turn_in(world, "x?", Vec::new());
    let begun = Instant::now();
    let reply = turn.run(pending()).await;
    assert_eq!((reply.status, reply.trouble), (ReplyStatus::Failed, Some(Trouble::Interrupted)));
    assert_eq!(begun.elapsed(), 3 * Limits::default().renewal);
}

#[tokio::test]
async fn turn_with_an_expired_lease_reads_but_writes_nothing() {
    let lost = || World { holds: Some(Hold::Lost), ..World::default() };
    for writing in
        [call("create_action_item", json!({"description": "Call Tom"})), call("ask_alpha", json!({"n": 1}))]
    {
        let steps = vec![calls(vec![writing]), answer("Done.", None)];
        let (turn, world) = turn_in(lost(), "x?", steps);
        let reply = turn.run(pending()).await;
        assert_eq!((reply.status, reply.trouble), (ReplyStatus::Failed, Some(Trouble::Interrupted)));
        assert_eq!((reply.text.as_str(), reply.tools.len()), ("", 0));
        assert_eq!(world.calls.load(Ordering::Relaxed) + world.app_calls.lock().len(), 0);
        assert!(!world.events.lock().iter().any(|event| matches!(event, Event::Tool { .. })));
    }
    let steps = vec![calls(vec![call("search", json!({"query": "x"}))]), answer("Found.", None)];
    let reply = turn_in(lost(), "x?", steps).0.run(pending()).await;
    assert_eq!((reply.status, reply.text.as_str()), (ReplyStatus::Completed, "Found."));
}

#[tokio::test]
async fn turn_of_unknown_ownership_writes_nothing_and_reports_it() {
    let world = World { holds: Some(Hold::Unknown), ..World::default() };
    let steps = vec![
        calls(vec![call("create_action_item", json!({"description": "Call Tom"}))]),
        answer("Not now.", None),
    ];
    let (turn, world) = turn_in(world, "x?", steps);
    let reply = turn.run(pending()).await;
    assert_eq!((reply.status, reply.text.as_str()), (ReplyStatus::Completed, "Not now."));
    assert_eq!((world.calls.load(Ordering::Relaxed), reply.tools.len()), (0, 0));
}

#[tokio::test]
async fn turn_followers_receive_the_stored_messages() {
    let world = World { is_lost: true, ..World::default() };
    let (turn, world) = turn_in(world, "x?", vec![answer("Here it is.", None)]);
    let reply = turn.run(pending()).await;
    assert_eq!((reply.status, reply.trouble), (ReplyStatus::Failed, Some(Trouble::Interrupted)));
    assert_eq!(world.events.lock().last(), Some(&Event::Over(reply)));
}
