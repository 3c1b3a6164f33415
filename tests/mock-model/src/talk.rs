//! The model as a partner of a talk with tools: it says and calls what its script contains, and streams that well or badly.

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How an answer is streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streaming {
    /// As it should be.
    #[default]
    Well,
    /// All calls claim index 0, and `finish_reason` is "stop".
    IndexZero,
    /// No call has an id or an index.
    NoIds,
    /// Arguments come as objects, all at once, and names are repeated.
    Objects,
    /// The answer comes in one piece, though a stream was asked for.
    NotStreamed,
    /// The stream cannot be read; without streaming the answer is good.
    Garbage,
}

/// A call that the model makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Value,
}

/// What the model does with one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// What it says.
    #[serde(default)]
    pub text: String,
    /// What it calls.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    /// How that is streamed.
    #[serde(default)]
    pub streaming: Streaming,
}

impl Turn {
    /// It says this.
    pub fn says(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// It makes these calls.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let call = |(name, arguments): &(&str, Value)| ToolCall {
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        };
        Self { calls: calls.iter().map(call).collect(), ..Self::default() }
    }

    /// The same, streamed in another way.
    pub fn streamed(self, streaming: Streaming) -> Self {
        Self { streaming, ..self }
    }

    /// The answer to a request that asked for a stream, or for none.
    pub(crate) fn answer(&self, streams: bool, usage: &Value) -> Response {
        if !streams || self.streaming == Streaming::NotStreamed {
            return Json(self.whole(usage)).into_response();
        }
        let mut body = String::new();
        for event in self.events(usage) {
            body.push_str(&format!("data: {event}\n\n"));
        }
        if self.streaming == Streaming::Garbage {
            body = "data: {\"choices\": [{\"delta\": {\"tool_calls\": [{\"index\": 0, \"fun\n\n".to_owned();
        }
        body.push_str("data: [DONE]\n\n");
        ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
    }

    fn whole(&self, usage: &Value) -> Value {
        let call = |(at, call): (usize, &ToolCall)| {
            json!({"id": format!("call_{at}"), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments.to_string()}})
        };
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().enumerate().map(call).collect();
        }
        let reason = if self.calls.is_empty() { "stop" } else { "tool_calls" };
        json!({"object": "chat.completion", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
    }

    fn events(&self, usage: &Value) -> Vec<Value> {
        let chunk = |delta: Value, reason: Value| json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
        let mut word = |text: &str| events.push(chunk(json!({"content": text}), Value::Null));
        self.text.split_inclusive(' ').for_each(&mut word);
        for (at, call) in self.calls.iter().enumerate() {
            let pieces = self.pieces(at, call);
            events.extend(pieces.into_iter().map(|piece| chunk(json!({"tool_calls": [piece]}), Value::Null)));
        }
        let reason = match (self.calls.is_empty(), self.streaming) {
            (true, _) | (false, Streaming::IndexZero) => json!("stop"),
            (false, Streaming::NoIds) => Value::Null,
            (false, _) => json!("tool_calls"),
        };
        events.push(chunk(json!({}), reason));
        events.push(json!({"choices": [], "usage": usage}));
        events
    }

    fn pieces(&self, at: usize, call: &ToolCall) -> Vec<Value> {
        let (name, text) = (&call.name, call.arguments.to_string());
        let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
        let id = format!("call_{at}");
        match self.streaming {
            Streaming::IndexZero => vec![
                json!({"index": 0, "id": id, "function": {"name": name, "arguments": first}}),
                json!({"index": 0, "id": id, "function": {"arguments": second}}),
            ],
            Streaming::NoIds => vec![
                json!({"function": {"name": name, "arguments": first}}),
                json!({"function": {"arguments": second}}),
            ],
            Streaming::Objects => vec![
                json!({"index": at, "id": id, "function": {"name": name, "arguments": ""}}),
                json!({"index": at, "id": id, "function": {"name": name, "arguments": call.arguments}}),
            ],
            _ => vec![
                json!({"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}),
                json!({"index": at, "function": {"arguments": first}}),
                json!({"index": at, "function": {"arguments": second}}),
            ],
        }
    }
}
