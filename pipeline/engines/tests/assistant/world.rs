//! A small world in memory, with the tools over it. What is written is noted, and changes nothing.

use std::collections::HashSet;
use std::sync::Mutex;

use assistant::{
    AppTool, AppTools, DataTool, Event, Hold, Journal, Listener, Output, Reply, Source, SourceKind,
    ToolFailure, Toolbox,
};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use rust_stemmers::{Algorithm, Stemmer};
use serde_json::{Value, json};

/// A call that reached the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) writes: bool,
}

pub(crate) struct World {
    pub(crate) now: DateTime<Utc>,
    pub(crate) zone: Tz,
    pub(crate) denied: Vec<DataTool>,
    pub(crate) data: Value,
    pub(crate) made: Mutex<Vec<Made>>,
}

impl World {
    pub(crate) fn office() -> Self {
        Self::of(include_str!("../../corpus/assistant/world.json"))
    }

    pub(crate) fn household() -> Self {
        Self::of(include_str!("../../corpus/assistant/household.json"))
    }

    fn of(data: &str) -> Self {
        let data: Value = serde_json::from_str(data).unwrap();
        Self {
            now: data["now"].as_str().unwrap().parse().unwrap(),
            zone: data["time_zone"].as_str().unwrap().parse().unwrap(),
            denied: Vec::new(),
            data,
            made: Mutex::default(),
        }
    }

    pub(crate) fn made(&self) -> Vec<Made> {
        self.made.lock().unwrap().clone()
    }

    fn note(&self, name: &str, arguments: &Value, writes: bool) {
        self.made.lock().unwrap().push(Made { name: name.to_owned(), arguments: arguments.clone(), writes });
    }

    fn all(&self, name: &str) -> Vec<Value> {
        self.data[name].as_array().unwrap().clone()
    }

    fn named(&self, list: &str, id: &Value) -> Option<Value> {
        self.all(list).into_iter().find(|thing| &thing["id"] == id)
    }

    fn run(&self, tool: DataTool, arguments: &Value) -> Result<Output, ToolFailure> {
        let limit = usize::try_from(arguments["limit"].as_u64().unwrap_or(50)).unwrap();
        let within = |thing: &Value, field: &str, from: &str, until: &str| {
            let at = thing[field].as_str();
            let from = arguments[from].as_str();
            let until = arguments[until].as_str();
            from.is_none_or(|from| at.is_some_and(|at| at >= from))
                && until.is_none_or(|until| at.is_some_and(|at| at < until))
        };
        let worded = |thing: &Value, field: &str| {
            arguments["query"]
                .as_str()
                .is_none_or(|query| !stems(query).is_disjoint(&stems(thing[field].as_str().unwrap())))
        };
        match tool {
            DataTool::Search => Ok(self.search(arguments, limit)),
            DataTool::ListConversations => {
                let mut found = self.all("conversations");
                found.retain(|one| within(one, "started_at", "start_date", "end_date"));
                found.truncate(limit);
                Ok(output("conversations", found, SourceKind::Conversation, "title"))
            }
            DataTool::ListActionItems => {
                let mut found = self.all("action_items");
                found.retain(|one| {
                    (arguments["completed"].is_null() || one["completed"] == arguments["completed"])
                        && within(one, "due_at", "due_after", "due_before")
                        && within(one, "completed_at", "completed_after", "completed_before")
                        && worded(one, "description")
                });
                found.truncate(limit);
                Ok(output("action_items", found, SourceKind::ActionItem, "description"))
            }
            DataTool::ListMemories => {
                let mut found = self.all("memories");
                found.retain(|one| worded(one, "content"));
                found.truncate(limit);
                Ok(output("memories", found, SourceKind::Memory, "content"))
            }
            DataTool::ListGoals => Ok(output("goals", self.all("goals"), SourceKind::Goal, "title")),
            DataTool::UpdateActionItem | DataTool::SetGoalProgress => {
                let (list, kind, title) = match tool {
                    DataTool::SetGoalProgress => ("goals", SourceKind::Goal, "title"),
                    _ => ("action_items", SourceKind::ActionItem, "description"),
                };
                let mut thing =
                    self.named(list, &arguments["id"]).ok_or(ToolFailure("Not found.".to_owned()))?;
                for (name, value) in arguments.as_object().unwrap() {
                    thing[name] = value.clone();
                }
                let sources = vec![source(&thing, kind, title)];
                Ok(Output { value: thing, sources })
            }
            DataTool::CreateActionItem => {
                let mut thing = arguments.clone();
                thing["id"] = json!("a-new");
                let sources = vec![source(&thing, SourceKind::ActionItem, "description")];
                Ok(Output { value: thing, sources })
            }
            DataTool::CreateMemory => {
                let mut thing = arguments.clone();
                thing["id"] = json!("m-new");
                let sources = vec![source(&thing, SourceKind::Memory, "content")];
                Ok(Output { value: thing, sources })
            }
            DataTool::Fetch => Err(ToolFailure("Not here.".to_owned())),
        }
    }

    /// As the database does it: those with all stems first, then those with most.
    fn search(&self, arguments: &Value, limit: usize) -> Output {
        let query = arguments["query"].as_str().unwrap();
        let wanted = stems(query);
        let phrase = query.starts_with('"').then(|| query.trim_matches('"').to_lowercase());
        let kinds = arguments["kinds"].as_array();
        let mut found: Vec<(usize, Value)> = Vec::new();
        for (list, kind, fields) in [
            ("conversations", "conversation", &["title", "overview", "text"][..]),
            ("memories", "memory", &["content"][..]),
            ("action_items", "action_item", &["description"][..]),
        ] {
            if kinds.is_some_and(|kinds| !kinds.contains(&json!(kind))) {
                continue;
            }
            for thing in self.all(list) {
                let passages: Vec<String> = match kind {
                    "conversation" => vec![
                        format!(
                            "{}\n{}",
                            thing["title"].as_str().unwrap(),
                            thing["overview"].as_str().unwrap()
                        ),
                        thing["text"].as_str().unwrap().replace(". ", ".\n"),
                    ],
                    _ => vec![thing[fields[0]].as_str().unwrap().to_owned()],
                };
                let rate = |passage: &str| match &phrase {
                    Some(phrase) => {
                        100 * usize::from(passage.replace('\n', " ").to_lowercase().contains(phrase))
                    }
                    None => wanted.intersection(&stems(passage)).count(),
                };
                let best = passages.iter().max_by_key(|passage| rate(passage)).unwrap();
                if rate(best) > 0 {
                    let at = thing.get("started_at").or(thing.get("created_at")).cloned();
                    let result = json!({
                        "id": thing["id"], "kind": kind, "title": thing.get("title").cloned().unwrap_or(json!("")),
                        "text": best, "created_at": at.unwrap_or(json!("2026-11-01T00:00:00Z")),
                        "completed": thing["completed"], "due_at": thing["due_at"],
                    });
                    found.push((rate(best), result));
                }
            }
        }
        found.sort_by_key(|(rate, _)| usize::MAX - rate);
        found.truncate(limit);
        let results: Vec<Value> = found.into_iter().map(|(_, result)| result).collect();
        let kind_of = |result: &Value| SourceKind::from_name(result["kind"].as_str().unwrap()).unwrap();
        let sources = results.iter().map(|result| source(result, kind_of(result), "title")).collect();
        Output { value: json!({"results": results}), sources }
    }
}

fn stems(text: &str) -> HashSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    words.map(|word| stemmer.stem(&word.to_lowercase()).into_owned()).collect()
}

fn source(thing: &Value, kind: SourceKind, title: &str) -> Source {
    Source {
        id: thing["id"].as_str().unwrap().to_owned(),
        kind,
        title: thing[title].as_str().unwrap_or_default().to_owned(),
        created_at: DateTime::UNIX_EPOCH,
    }
}

fn output(name: &str, found: Vec<Value>, kind: SourceKind, title: &str) -> Output {
    let sources = found.iter().map(|thing| source(thing, kind, title)).collect();
    Output { value: json!({ name: found }), sources }
}

impl Toolbox for World {
    fn may(&self, tool: DataTool) -> bool {
        !self.denied.contains(&tool)
    }

    fn call<'a>(
        &'a self,
        tool: DataTool,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<Output, ToolFailure>> {
        self.note(tool.as_str(), arguments, tool.writes());
        ready(self.run(tool, arguments)).boxed()
    }
}

impl AppTools for World {
    fn list(&self) -> BoxFuture<'_, Vec<AppTool>> {
        let field = |tool: &Value, name: &str| tool[name].as_str().unwrap().to_owned();
        let tools = self.all("app_tools").into_iter().map(|tool| AppTool {
            app_id: field(&tool, "app_id"),
            app_name: field(&tool, "app_name"),
            name: field(&tool, "name"),
            description: field(&tool, "description"),
            parameters: tool["parameters"].clone(),
            status_message: field(&tool, "status_message"),
        });
        ready(tools.collect()).boxed()
    }

    fn call<'a>(
        &'a self,
        tool: &'a AppTool,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        self.note(&tool.name, arguments, true);
        ready(Ok("ok".to_owned())).boxed()
    }
}

impl Journal for World {
    fn hold(&self) -> BoxFuture<'_, Hold> {
        ready(Hold::Held).boxed()
    }

    fn finish<'a>(&'a self, _: &'a Reply) -> BoxFuture<'a, bool> {
        ready(true).boxed()
    }
}

impl Listener for World {
    fn hear(&self, _: Event) {}
}
