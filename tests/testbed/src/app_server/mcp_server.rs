//! The MCP server of the fake app's: good, or bad in the way that its path names.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{AppServer, hang, moved};

/// The session that the server opens, and wants to see at every other request.
const SESSION: &str = "session-7";

/// `how`: `json` and `stream` are good; `stateless` keeps no session; `wide` says much that is not needed; the others misbehave where tools are listed.
pub(crate) async fn answer(
    State(server): State<AppServer>,
    Path(how): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    server.record(&method, &uri, headers.clone(), &body);
    let (how, keeps_sessions) = (how.as_str(), how != "stateless");
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = message["method"].as_str().unwrap_or_default();
    if keeps_sessions && asked != "initialize" && headers.get("mcp-session-id").is_none_or(|id| id != SESSION)
    {
        return StatusCode::BAD_REQUEST.into_response();
    }
    if method == Method::DELETE || asked == "notifications/initialized" {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = match asked {
        "initialize" => {
            let info = json!({ "name": "fake", "version": "1" });
            json!({ "protocolVersion": "2025-03-26", "capabilities": { "tools": {} }, "serverInfo": info })
        }
        "tools/list" => match listed(how, message["params"]["cursor"].as_str()) {
            Ok(result) => result,
            Err(how) => return misbehaving(how).await,
        },
        _ => match called(&message["params"]) {
            Some(result) => result,
            None => return hang().await,
        },
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let mut response = match how {
        "stream" => {
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
            let text = format!(": hello\n\ndata: {progress}\n\nevent: message\ndata: {answer}\n\n");
            ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
        }
        _ => Json(answer).into_response(),
    };
    if keeps_sessions && asked == "initialize" {
        response.headers_mut().insert("mcp-session-id", header::HeaderValue::from_static(SESSION));
    }
    response
}

/// Two pages with a tool each, or what `how` does instead.
fn listed<'a>(how: &'a str, cursor: Option<&str>) -> Result<Value, &'a str> {
    let tool = |name: &str| {
        let note = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null });
        let schema = json!({ "type": "object", "properties": { "text": note }, "required": [] });
        json!({ "name": name, "description": format!("Does {name}"), "inputSchema": schema })
    };
    match (how, cursor) {
        ("json" | "stream" | "stateless", None) => {
            Ok(json!({ "tools": [tool("add_note")], "nextCursor": "2" }))
        }
        ("json" | "stream" | "stateless", Some(_)) => Ok(json!({ "tools": [tool("echo"), tool("hangs")] })),
        ("clash", _) => Ok(json!({ "tools": [tool("add_note"), tool("add_note"), { "name": "a b" }] })),
        ("many", _) => {
            let names = (0..1_000).map(|n| format!("t{n}"));
            Ok(json!({ "tools": names.map(|name| tool(&name)).collect::<Vec<_>>() }))
        }
        ("long" | "wide", cursor) => {
            let number = cursor.and_then(|cursor| cursor.parse::<u8>().ok()).unwrap_or(0);
            let mut tool = tool(&format!("t{number}"));
            let schema = if how == "long" { "inputSchema" } else { "outputSchema" };
            tool[schema]["description"] = "x".repeat(100 * 1_024).into();
            let next = (number < 3).then(|| (number + 1).to_string());
            Ok(json!({ "tools": [tool], "nextCursor": next }))
        }
        ("endless", _) => Ok(json!({ "tools": [], "nextCursor": "again" })),
        (how, _) => Err(how),
    }
}

async fn misbehaving(how: &str) -> Response {
    match how {
        "slow" => hang().await,
        "redirect" => moved(),
        "html" => "<html>not found</html>".into_response(),
        "huge" => "x".repeat(300 * 1_024).into_response(),
        "refuses" => {
            let error = json!({ "code": -32_000, "message": "Wrong token sk-live-0123456789" });
            Json(json!({ "jsonrpc": "2.0", "id": 1, "error": error })).into_response()
        }
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// `None`: it hangs.
fn called(params: &Value) -> Option<Value> {
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    match params["name"].as_str()? {
        "add_note" => {
            Some(text(format!("noted {} for {}", params["arguments"], params["_meta"]["listen/uid"])))
        }
        "echo" => {
            let mut failed = text("failed with key sk-live-0123456789abcdef".to_owned());
            failed["isError"] = json!(true);
            Some(failed)
        }
        _ => None,
    }
}
