//! What a model is sent in one round.

use assistant::{Exchange, Round, Speaker};
use serde_json::{Map, Value, json};

use super::way::Way;
use crate::openai::{OpenAi, window::Window};

/// What every conversation begins with.
const SYSTEM: &str = include_str!("../../../prompts/assistant.md");
/// What is asked of a model that chooses no tools itself.
const WORDING: &str = "Programs have already looked up, or changed, what the user asked for: their results and a draft of \
    the answer stand between the marks. Word the answer from them. Claim nothing that is not in them.";
/// The characters of one result.
const RESULT: usize = 16_000;

/// One call.
pub(super) struct Request<'a> {
    pub(super) engine: &'a OpenAi,
    pub(super) round: Round<'a>,
    pub(super) way: Way,
    /// What the rules would answer, where they chose the tools.
    pub(super) draft: Option<&'a str>,
}

impl Request<'_> {
    /// The body of the call.
    pub(super) fn body(&self) -> Value {
        let mut body = Map::new();
        let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
        set("model", (&*self.engine.model).into());
        set("messages", self.messages().into());
        set(self.way.limit, Window::output(self.engine.window.context()).into());
        if self.way.temperature {
            set("temperature", 0.into());
        }
        if self.way.stream {
            set("stream", true.into());
            set("stream_options", json!({"include_usage": true}));
        }
        if self.draft.is_none() && !self.round.tools.is_empty() {
            set("tools", self.tools());
            if self.round.is_last {
                set("tool_choice", "none".into());
            }
        }
        body.into()
    }

    fn tools(&self) -> Value {
        let tool = |tool: &assistant::Offered| {
            let mut parameters = tool.parameters.clone();
            if let Some(fields) = parameters.as_object_mut() {
                fields.entry("type").or_insert_with(|| "object".into());
            }
            // Some servers refuse every tool of a request in which one array does not say what it holds.
            let properties = parameters.get_mut("properties").and_then(Value::as_object_mut);
            for schema in properties.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
                if schema.get("type").and_then(Value::as_str) == Some("array") {
                    schema.entry("items").or_insert_with(|| json!({}));
                }
            }
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": parameters,
            }})
        };
        self.round.tools.iter().map(tool).collect()
    }

    fn messages(&self) -> Vec<Value> {
        let context = self.round.context;
        let now = context.now.with_timezone(&context.zone);
        let name = context.user_name.as_deref().unwrap_or("unknown");
        let told = format!(
            "{SYSTEM}\nNow: {}. The user's time zone: {}. The user's name: {name}.",
            now.format("%A, %Y-%m-%dT%H:%M:%S%:z"),
            context.zone
        );
        let mut messages = vec![json!({"role": "system", "content": told})];
        let mut said = if self.way.history { self.history() } else { Vec::new() };
        let exchanges = || self.round.rounds.iter().flatten();
        if let Some(draft) = self.draft {
            let results: Vec<String> = exchanges().map(result_of).collect();
            let data = format!("{}\nDraft:\n{draft}", results.join("\n"));
            said.push(("user", format!("{}\n\n{WORDING}\n{}", self.round.question, self.marked(&data))));
            messages.extend(in_turns(said));
            return messages;
        }
        said.push(("user", self.round.question.to_owned()));
        messages.extend(in_turns(said));
        for (number, exchanges) in self.round.rounds.iter().enumerate() {
            // Ids that a server gave twice would answer the wrong call.
            let id = |at: usize| format!("call_{number}_{at}");
            let calls = exchanges.iter().enumerate().map(|(at, exchange)| {
                let arguments = exchange.call.arguments.to_string();
                json!({"id": id(at), "type": "function",
                    "function": {"name": exchange.call.name, "arguments": arguments}})
            });
            messages
                .push(json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Value>()}));
            messages.extend(exchanges.iter().enumerate().map(|(at, exchange)| {
                json!({"role": "tool", "tool_call_id": id(at), "content": self.marked(&result_of(exchange))})
            }));
        }
        messages
    }

    /// Earlier messages with their roles.
    fn history(&self) -> Vec<(&'static str, String)> {
        let said = self.round.history.iter().map(|past| match past.speaker {
            Speaker::Human => ("user", past.text.clone()),
            Speaker::Assistant => ("assistant", past.text.clone()),
            Speaker::App => {
                ("user", format!("A message that an app sent to me:\n{}", self.marked(&past.text)))
            }
        });
        said.collect()
    }

    /// Text of others between marks that it cannot know.
    fn marked(&self, text: &str) -> String {
        let mark = self.engine.marks.of_text(text);
        format!("<data {mark}>\n{text}\n</data {mark}>")
    }
}

/// Messages of the user and the assistant in turn, the user's first, as templates of some models demand: neighbours of one role
/// become one message. A reply that stands before everything has lost its question, and goes.
fn in_turns(said: Vec<(&'static str, String)>) -> impl Iterator<Item = Value> {
    let mut turns: Vec<(&str, String)> = Vec::new();
    for (role, text) in said.into_iter().skip_while(|(role, _)| *role == "assistant") {
        match turns.last_mut().filter(|(last, _)| *last == role) {
            Some((_, before)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            None => turns.push((role, text)),
        }
    }
    turns.into_iter().map(|(role, text)| json!({"role": role, "content": text}))
}

fn result_of(exchange: &Exchange) -> String {
    let text = match &exchange.result {
        Ok(Value::String(text)) => text.clone(),
        Ok(value) => value.to_string(),
        Err(words) if exchange.foreign => format!("The app reported an error: {words}"),
        Err(words) => format!("Error: {words}"),
    };
    match text.char_indices().nth(RESULT) {
        Some((at, _)) => format!("{}… (cut)", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
