//! One operation on the page.

use serde_json::Value;

use super::{
    element::{escape, folded, tagged},
    entries, markdown, schema, text,
};

/// Its article: what it does, what it takes, what it answers, and a line to try.
pub(super) fn render(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let id = text(&operation["operationId"]);
    format!(
        "<article id=\"{id}\"><h3><a href=\"#{id}\">{summary}</a></h3>\n<p class=\"route\">{badge} <code>{path}</code></p>\n\
         {scope}{words}\n{parameters}{body}{answers}{example}</article>\n",
        summary = escape(text(&operation["summary"])),
        badge = badge(method),
        path = escape(path).replace('/', "<wbr>/"),
        scope = scope(operation),
        words = markdown::render(text(&operation["description"])),
        parameters = schema::parameters(document, &operation["parameters"]),
        body = body(document, operation),
        answers = answers(document, operation),
        example = folded("Try it with curl", &code(&curl(path, method, operation))),
    )
}

/// The method, as a coloured word.
pub(super) fn badge(method: &str) -> String {
    format!("<b class=\"method {method}\">{}</b>", method.to_uppercase())
}

fn scope(operation: &Value) -> String {
    if operation["security"] == serde_json::json!([]) {
        return "<p class=\"scope\">No key</p>".to_owned();
    }
    match operation["security"][0]["developerKey"][0].as_str() {
        Some(scope) => format!("<p class=\"scope\">Scope <code>{scope}</code></p>"),
        None => "<p class=\"scope\">Any key</p>".to_owned(),
    }
}

fn body(document: &Value, operation: &Value) -> String {
    let body = &operation["requestBody"];
    let title = match body["required"] == true {
        true => "Body",
        false => "Body (may be left out)",
    };
    match body["content"]["application/json"].get("schema") {
        Some(taken) => schema::block(title, document, taken),
        None => String::new(),
    }
}

fn answers(document: &Value, operation: &Value) -> String {
    let rows: String =
        entries(&operation["responses"]).map(|(status, answer)| row(document, status, answer)).collect();
    format!("<h4>Answers</h4><dl class=\"answers\">{rows}</dl>")
}

fn row(document: &Value, status: &str, answer: &Value) -> String {
    let answer = schema::resolved(document, answer);
    let media = &answer["content"]["application/json"];
    let examples: String = entries(&media["examples"]).map(|(_, example)| json(&example["value"])).collect();
    let example = if media["example"].is_null() { examples } else { json(&media["example"]) };
    let fields = media.get("schema").filter(|_| status.starts_with('2'));
    let fields = fields.map_or_else(String::new, |shown| folded("Fields", &schema::table(document, shown)));
    let example = if example.is_empty() { example } else { folded("Example", &example) };
    let class = if status.starts_with('2') { "good" } else { "bad" };
    format!(
        "<div><dt class=\"{class}\">{status}</dt><dd>{}{fields}{example}</dd></div>",
        tagged("p", &markdown::line(text(&answer["description"])))
    )
}

/// A request that works after filling in the key (and the ids of the path).
fn curl(path: &str, method: &str, operation: &Value) -> String {
    let verb = if method == "get" { String::new() } else { format!(" -X {}", method.to_uppercase()) };
    let mut line = format!("curl -s{verb} \"$API{path}\" \\\n  -H \"Authorization: Bearer $KEY\"");
    let example = &operation["requestBody"]["content"]["application/json"]["example"];
    if !example.is_null() {
        let sent = example.to_string().replace('\'', "'\\''");
        line.push_str(&format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d '{sent}'"));
    }
    line
}

fn json(value: &Value) -> String {
    code(&serde_json::to_string_pretty(value).unwrap_or_default())
}

fn code(words: &str) -> String {
    format!("<pre tabindex=\"0\"><code>{}</code></pre>", escape(words))
}
