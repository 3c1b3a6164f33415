//! What an MCP server is asked (streamable HTTP, JSON-RPC 2.0), and how its answers are read.

use serde_json::{Map, Value, json};

use crate::{
    Answered, ToolFailure,
    answer::{fit, visible},
};

/// The version that is asked for; the server answers with the one that it speaks.
pub const PROTOCOL_VERSION: &str = "2025-06-18";

/// The first message of a session.
pub fn initialize() -> Value {
    let client = json!({ "name": "listen", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// The second; it has no answer.
pub fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// Asks for a page of tools.
pub fn list_tools(cursor: Option<&str>) -> Value {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params })
}

/// Calls a tool. The user and the app stand beside the arguments, in `_meta`, where no argument can take their place.
pub fn call_tool(name: &str, uid: &str, app_id: &str, arguments: &Map<String, Value>) -> Value {
    let meta = json!({ "listen/uid": uid, "listen/app_id": app_id });
    let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// Its result.
    Result(Map<String, Value>),
    /// The server refused it, in these words.
    Refused(String),
}

/// The answer to the one request of a body, which is JSON or an event stream; `None` where it is neither, or has no answer.
/// What else the server says in a stream is ignored.
pub fn response(body: &[u8]) -> Option<Response> {
    let text = std::str::from_utf8(body).ok()?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with(['{', '[']) {
        return answer_in(serde_json::from_str(text).ok()?);
    }
    let mut data = String::new();
    for line in text.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("data:") {
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
            data.push('\n');
        } else if line.is_empty() && !data.is_empty() {
            if let Some(found) = serde_json::from_str(&data).ok().and_then(answer_in) {
                return Some(found);
            }
            data.clear();
        }
    }
    None
}

fn answer_in(message: Value) -> Option<Response> {
    let mut message = match message {
        Value::Object(message) => message,
        Value::Array(messages) => return messages.into_iter().find_map(answer_in),
        _ => return None,
    };
    if message.get("id")? != &json!(1) {
        return None;
    }
    // Some servers write `null` beside a result.
    if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        return Some(Response::Refused(fit(error
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default())));
    }
    match message.remove("result")? {
        Value::Object(result) => Some(Response::Result(result)),
        _ => None,
    }
}

/// The version that the server chose, as it may stand in a header.
pub fn version(initialized: &Map<String, Value>) -> &str {
    let version = initialized.get("protocolVersion").and_then(Value::as_str).unwrap_or(PROTOCOL_VERSION);
    let is_date = version.len() == 10 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_date { version } else { PROTOCOL_VERSION }
}

/// The tools of a page, and where the next one begins; `None` where it is no list.
pub fn page(mut result: Map<String, Value>) -> Option<(Vec<Value>, Option<String>)> {
    let next = result.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty());
    let next = next.map(str::to_owned);
    match result.remove("tools")? {
        Value::Array(tools) => Some((tools, next)),
        _ => None,
    }
}

/// What a called tool answered: its texts, a line each; else its structured content.
pub fn answered(response: Option<Response>) -> Answered {
    let result = match response {
        Some(Response::Result(result)) => result,
        Some(Response::Refused(words)) if !words.is_empty() => {
            return Answered::AppError { text: words, setup_url: None };
        }
        Some(Response::Refused(_)) | None => return Answered::Failed(ToolFailure::Malformed),
    };
    let parts = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(text_of).collect();
    let text = match (texts.is_empty(), result.get("structuredContent")) {
        (true, Some(structured)) => structured.to_string(),
        (true, None) if !result.contains_key("content") => return Answered::Failed(ToolFailure::Malformed),
        _ => texts.join("\n"),
    };
    match result.get("isError") {
        Some(Value::Bool(true)) => Answered::AppError { text: or_error(fit(&text)), setup_url: None },
        _ => Answered::Result(visible(&text)),
    }
}

fn or_error(words: String) -> String {
    if words.is_empty() { "The tool failed.".to_owned() } else { words }
}

/// The text of a part: its own, that of a resource in it, or the address of a link. Pictures and sounds have none.
fn text_of(part: &Value) -> Option<&str> {
    match part.get("type")?.as_str()? {
        "text" => part.get("text")?.as_str(),
        "resource" => part.get("resource")?.get("text")?.as_str(),
        "resource_link" => part.get("uri")?.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    fn read(body: &str) -> Answered {
        answered(response(body.as_bytes()))
    }

    fn of(result: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string()
    }

    #[test]
    fn mcp_answer_is_read_from_json_and_event_streams() {
        let result = of(&json!({ "content": [{ "type": "text", "text": "Sunny" }] }));
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {} });
        let asked = json!({ "jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage" });
        let stream = format!(
            ": ping\n\nevent: message\ndata: {progress}\n\ndata: {asked}\r\n\r\nid: 7\nevent: message\ndata: {result}\n\n"
        );
        let beside_null = result.replace("\"id\":1", "\"id\":1,\"error\":null");
        assert_ne!(beside_null, result);
        let list = format!("[{progress}, {result}]");
        for body in [result.clone(), list, stream, format!("data:{result}"), beside_null] {
            assert_eq!(read(&body), Answered::Result("Sunny".to_owned()), "{body}");
        }
    }

    #[test]
    fn mcp_result_joins_texts_or_uses_structured_content() {
        let parts = json!([
            { "type": "text", "text": "one" }, { "type": "image", "data": "x" },
            { "type": "resource", "resource": { "uri": "a:b", "text": "two" } },
            { "type": "resource_link", "uri": "https://a.example/", "name": "a" },
        ]);
        let joined = "one\ntwo\nhttps://a.example/".to_owned();
        assert_eq!(read(&of(&json!({ "content": parts }))), Answered::Result(joined));
        let hidden = json!({ "content": [{ "type": "text", "text": "a\u{0}\u{1b}[31mb\u{202e}c\n\td" }] });
        assert_eq!(read(&of(&hidden)), Answered::Result("a[31mbc\n\td".to_owned()));
        let structured = json!({ "content": [], "structuredContent": { "\u{202e}n": "\u{2066}1" } });
        assert_eq!(read(&of(&structured)), Answered::Result("{\"n\":\"1\"}".to_owned()));
        let structured = json!({ "content": [], "structuredContent": { "n": 1 } });
        assert_eq!(read(&of(&structured)), Answered::Result("{\"n\":1}".to_owned()));
        assert_eq!(read(&of(&json!({ "content": [] }))), Answered::Result(String::new()));
    }

    #[test]
    fn mcp_refusal_is_the_apps_text_without_secrets() {
        let words = |text: &str| Answered::AppError { text: text.to_owned(), setup_url: None };
        let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "bad key sk-abc123" }] });
        assert_eq!(read(&of(&failed)), words("bad key […]"));
        let refused =
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": "No\nsuch tool" } });
        assert_eq!(read(&refused.to_string()), words("No such tool"));
        for body in ["", "<html>", "data: {", "{}", "7", &of(&json!({})), &of(&json!([]))] {
            assert_eq!(read(body), Answered::Failed(ToolFailure::Malformed), "{body}");
        }
    }

    #[test]
    fn mcp_arguments_cannot_override_the_user() {
        let evil = json!({ "uid": "evil", "_meta": { "listen/uid": "evil" } });
        let sent = call_tool("t", "ann", "a1", evil.as_object().unwrap());
        assert_eq!(sent["params"]["_meta"], json!({ "listen/uid": "ann", "listen/app_id": "a1" }));
        assert_eq!(sent["params"]["arguments"], evil);
    }
}
