//! The assistant without a model, held to questions that were written before its rules, over two small worlds
//! (`corpus/assistant/`). Frozen questions are not looked at when rules change, only counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::indexing_slicing, reason = "the corpus is ours")]

mod world;

use std::sync::Arc;

use assistant::{Context, DataTool, Limits, Past, Ports, Reply, Speaker, Turn};
use engines::Embedded;
use serde_json::{Value, json};
use world::{Made, World};

/// Of the questions this part must be answered as expected.
const RECALL: f64 = 0.95;

/// A message to the assistant, after the messages before it.
async fn ask_after(world: &Arc<World>, history: Vec<Past>, question: &str) -> Reply {
    let turn = Turn {
        context: Context {
            now: world.now,
            zone: world.zone,
            user_name: world.data["user_name"].as_str().map(str::to_owned),
            is_first: false,
        },
        history,
        question: question.to_owned(),
        ports: Ports {
            engine: Arc::new(Embedded::new()),
            toolbox: world.clone(),
            apps: world.clone(),
            journal: world.clone(),
            listener: world.clone(),
        },
        limits: Limits::default(),
    };
    turn.run(std::future::pending()).await
}

async fn ask(question: &str) -> (Reply, Vec<Made>) {
    let world = Arc::new(World::office());
    let reply = ask_after(&world, Vec::new(), question).await;
    (reply, world.made())
}

/// Asks what an entry of the corpus expects to be answered; what it says was asked `after`, is asked before.
async fn ask_expected(world: World, expected: &Value) -> (Reply, Vec<Made>) {
    let world = Arc::new(world);
    let past = |speaker, text: &str| Past { speaker, text: text.to_owned(), apps: Vec::new() };
    let mut history = Vec::new();
    for question in expected["after"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap()) {
        let reply = ask_after(&world, history.clone(), question).await;
        history.extend([past(Speaker::Human, question), past(Speaker::Assistant, &reply.text)]);
    }
    let before = world.made().len();
    let reply = ask_after(&world, history, expected["q"].as_str().unwrap()).await;
    (reply, world.made().split_off(before))
}

/// What is wrong with an answer, and whether it wrote what it should not have.
fn judge(expected: &Value, reply: &Reply, made: &[Made]) -> (Vec<String>, bool) {
    let mut faults = Vec::new();
    let sources: Vec<&str> = reply.sources.iter().map(|source| source.id.as_str()).collect();
    let list = |name: &str| -> Vec<&str> {
        expected[name]
            .as_array()
            .map(|ids| ids.iter().map(|id| id.as_str().unwrap()).collect())
            .unwrap_or_default()
    };
    if let Some(tool) = expected.get("tool") {
        match tool.as_str() {
            None if !made.is_empty() => faults.push("called something".to_owned()),
            Some(tool) if !made.iter().any(|made| made.name == tool) => {
                faults.push(format!("did not call {tool}"))
            }
            _ => {}
        }
    }
    faults.extend(list("ids").iter().filter(|id| !sources.contains(id)).map(|id| format!("lacks {id}")));
    faults.extend(list("not").iter().filter(|id| sources.contains(id)).map(|id| format!("names {id}")));
    if !list("any").is_empty() && !list("any").iter().any(|id| sources.contains(id)) {
        faults.push("names none of the right ones".to_owned());
    }
    if expected["nothing"] == true && !sources.is_empty() {
        faults.push("found something".to_owned());
    }
    let text = reply.text.to_lowercase();
    faults
        .extend(list("says").iter().filter(|it| !text.contains(*it)).map(|it| format!("does not say {it}")));
    if !list("says_any").is_empty() && !list("says_any").iter().any(|it| text.contains(it)) {
        faults.push("says nothing of what it should".to_owned());
    }
    let writes: Vec<&Made> = made.iter().filter(|made| made.writes).collect();
    let wrong = match (expected.get("write"), writes.as_slice()) {
        (None, []) => false,
        (None, _) => true,
        (Some(_), []) => {
            faults.push("wrote nothing".to_owned());
            false
        }
        (Some(write), [made]) => {
            let problems = compare(write, &expected["tool"], made);
            let any = !problems.is_empty();
            faults.extend(problems);
            any
        }
        (Some(_), _) => true,
    };
    if wrong {
        faults.push(format!("WRONG WRITE {writes:?}"));
    }
    (faults, wrong)
}

fn compare(write: &Value, tool: &Value, made: &Made) -> Vec<String> {
    let mut problems = Vec::new();
    if tool.as_str() != Some(made.name.as_str()) {
        problems.push(format!("wrote by {}", made.name));
    }
    let arguments = &made.arguments;
    for (name, value) in write.as_object().unwrap() {
        let fits = match name.as_str() {
            "has" => {
                let words = format!("{}{}", arguments["description"], arguments["content"]).to_lowercase();
                value
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|word| words.contains(&word.as_str().unwrap().to_lowercase()))
            }
            "due" => arguments.get("due_at").unwrap_or(&Value::Null) == value,
            "arguments" => arguments == value,
            "current_value" => arguments[name].as_f64() == value.as_f64(),
            _ => &arguments[name] == value,
        };
        if !fits {
            problems.push(format!("{name} is not {value}: {arguments}"));
        }
    }
    problems
}

async fn score(world: fn() -> World, file: &str, shown: bool) -> (usize, usize, usize) {
    let questions: Vec<Value> = serde_json::from_str(file).unwrap();
    let (mut right, mut wrong_writes) = (0, 0);
    for expected in &questions {
        let (reply, made) = ask_expected(world(), expected).await;
        let (faults, wrong) = judge(expected, &reply, &made);
        right += usize::from(faults.is_empty());
        wrong_writes += usize::from(wrong);
        // A wrong write is shown of frozen questions, too: it has to be mended.
        if !faults.is_empty() && (shown || wrong) {
            println!("{}: {faults:?}\n  {:?}\n  {}", expected["q"], made, reply.text);
        }
    }
    (right, questions.len(), wrong_writes)
}

/// At least [`RECALL`] of the questions are answered right, and nothing is written that was not asked for.
async fn hold(name: &str, world: fn() -> World, questions: &str, shown: bool) {
    let (right, all, wrong) = score(world, questions, shown).await;
    println!("{name}: {right} of {all}, {wrong} wrong writes");
    assert_eq!(wrong, 0);
    assert!(right as f64 >= RECALL * all as f64, "{right} of {all}");
}

#[tokio::test]
async fn the_open_questions_are_answered() {
    hold("open", World::office, include_str!("../../corpus/assistant/open.json"), true).await;
}

#[tokio::test]
async fn questions_that_were_added_later_are_answered() {
    hold("more", World::office, include_str!("../../corpus/assistant/more.json"), true).await;
}

#[tokio::test]
async fn the_questions_of_a_stranger_are_answered() {
    hold("stranger", World::office, include_str!("../../corpus/assistant/stranger.json"), true).await;
}

#[tokio::test]
async fn the_frozen_questions_are_answered() {
    hold("frozen", World::office, include_str!("../../corpus/assistant/frozen.json"), false).await;
}

/// Written by someone who had not read the rules: messages of a household, some of which lean on the one before.
#[tokio::test]
async fn the_messages_of_a_household_are_answered() {
    let open = include_str!("../../corpus/assistant/household_open.json");
    hold("household, open", World::household, open, true).await;
}

#[tokio::test]
async fn the_frozen_messages_of_a_household_are_answered() {
    let frozen = include_str!("../../corpus/assistant/household_frozen.json");
    hold("household, frozen", World::household, frozen, false).await;
}

#[tokio::test]
async fn without_the_scope_nothing_is_written_and_the_scope_is_named() {
    let world = Arc::new(World { denied: vec![DataTool::CreateActionItem], ..World::office() });
    let reply = ask_after(&world, Vec::new(), "Remind me to call the bank tomorrow").await;
    assert!(reply.text.contains("action_items:write"), "{}", reply.text);
    assert_eq!(world.made(), Vec::<Made>::new());
}

#[tokio::test]
async fn an_app_that_the_message_does_not_name_is_not_asked() {
    for question in [
        "Give me the forecast for Hamburg",
        "Gives the forecast for the city of Hamburg",
        "Will it rain in Lisbon?",
        "Post \"I am late\" to the channel #office",
        "Brightness 40",
    ] {
        let (reply, made) = ask(question).await;
        assert!(made.iter().all(|made| !made.writes), "{question}: {made:?}");
        assert!(!reply.text.contains("still need"), "{question}: {}", reply.text);
    }
    for (question, tool) in [
        ("Ask Weather for the forecast in Hamburg", "get_weather"),
        ("Set brightness to 40", "set_brightness"),
        // The tool that is written out, whatever else the words fit.
        ("With Weather for the forecast of the city in mind, use set_brightness: 40", "set_brightness"),
        ("Use send_message: post \"I am late\" to #office", "send_message"),
    ] {
        let (_, made) = ask(question).await;
        assert!(made.iter().any(|made| made.name == tool), "{question}: {made:?}");
    }
}

#[tokio::test]
async fn an_app_called_like_what_the_service_is_asked_about_is_asked_where_it_is_addressed() {
    for (question, asked) in [
        ("Show me the notes on podcast ads", false),
        ("Give me my notes of Tuesday", false),
        ("Ask Notes for the newest", true),
        ("Show me the newest of the notes app", true),
    ] {
        let mut world = World::office();
        let notes = json!({ "app_id": "n", "app_name": "Notes", "name": "list_newest", "description": "Lists the newest",
            "parameters": { "properties": {}, "required": [] }, "status_message": "" });
        world.data["app_tools"].as_array_mut().unwrap().push(notes);
        let world = Arc::new(world);
        ask_after(&world, Vec::new(), question).await;
        assert_eq!(world.made().iter().any(|made| made.name == "list_newest"), asked, "{question}");
    }
}

#[tokio::test]
async fn an_app_or_tool_that_is_not_there_is_said_to_be_not_there() {
    for (question, named) in [
        ("Ask the banking app for my balance", "no app \"banking\""),
        ("Please use my Home Cinema app to dim the lights", "no app \"Home Cinema\""),
        ("Tell Todoist app to add milk", "no app \"Todoist\""),
        ("Use send_mail: \"I am late\" to Tom", "no tool \"send_mail\""),
    ] {
        let (reply, made) = ask(question).await;
        assert!(reply.text.contains(named), "{question}: {}", reply.text);
        assert_eq!(made, Vec::<Made>::new(), "{question}");
    }
    for question in [
        "Tell me about the banking app",
        "Tell the story of the app",
        "Ask the team about app icons",
        "Ask the Weather app about Hamburg",
        "Use Slack to send a message",
        "Use Monday to plan the party",
    ] {
        let (reply, _) = ask(question).await;
        assert!(!reply.text.contains("There is no"), "{question}: {}", reply.text);
    }
}

#[tokio::test]
async fn every_line_of_an_answer_quotes_what_is_there() {
    let (reply, _) = ask("What did Priya say about podcast ads?").await;
    assert!(reply.text.contains("Priya: I would not spend anything on podcast ads."), "{}", reply.text);
    let (reply, _) = ask("What did Bartholomew say about zeppelins?").await;
    assert!(reply.text.contains("found nothing"), "{}", reply.text);
}

#[tokio::test]
async fn a_long_or_strange_message_writes_nothing_and_ends() {
    let long = "remind ".repeat(1_000);
    for question in
        ["", "?", "\"\"", "🧠🧠", "remind me to", "remember", "mark as done", "set goal to", &long]
    {
        let (reply, made) = ask(question).await;
        assert!(made.iter().all(|made| !made.writes), "{question}: {made:?}");
        assert!(!reply.text.is_empty(), "{question}");
    }
}

#[tokio::test]
async fn a_message_that_leans_on_the_one_before_writes_nothing_and_asks_no_app() {
    for (before, question) in [
        ("Can you remind me to call Tom tomorrow?", "and on Friday?"),
        ("Would you add a task: pay Priya on Monday?", "what about Tuesday?"),
        ("Ask Weather for the forecast in Hamburg today, ok?", "and tomorrow?"),
    ] {
        let expected = json!({ "q": question, "after": [before] });
        let (reply, made) = ask_expected(World::office(), &expected).await;
        assert!(made.iter().all(|made| !made.writes), "{question}: {made:?} {}", reply.text);
    }
    let chosen = json!({ "q": "the second one", "after": ["Mark the Acme contract as done"] });
    let (reply, made) = ask_expected(World::office(), &chosen).await;
    let changed: Vec<&Value> = made.iter().filter(|made| made.writes).map(|made| &made.arguments).collect();
    assert_eq!(changed, [&json!({ "id": "a-email", "completed": true })], "{}", reply.text);
}

#[tokio::test]
async fn what_is_asked_in_a_script_without_spaces_is_searched_for() {
    for (question, query) in [
        ("预算", "预算"),
        ("关于预算我们说了什么？", "关于预算我们说了什么"),
        ("What did we say about 预算?", "预算"),
        ("打ち合わせはいつですか", "打ち合わせはいつですか"),
    ] {
        let (reply, made) = ask(question).await;
        let searched: Vec<&Value> =
            made.iter().filter(|made| made.name == "search").map(|made| &made.arguments["query"]).collect();
        assert_eq!(searched, [query], "{}", reply.text);
    }
}
