//! Fields and parameters on the page.

use serde_json::Value;

use super::{
    element::{escape, folded, tagged},
    entries, markdown, text,
};

/// Deeper than this nothing of ours goes; a schema that names itself would.
const DEEPEST: usize = 5;

/// A schema under a heading.
pub(super) fn block(title: &str, document: &Value, schema: &Value) -> String {
    format!("<h4>{title}</h4>{}", table(document, schema))
}

/// A schema's fields.
pub(super) fn table(document: &Value, schema: &Value) -> String {
    fields(document, schema, 0)
}

/// Parameters, but for those of the path, which speak for themselves.
pub(super) fn parameters(document: &Value, parameters: &Value) -> String {
    let shown = parameters.as_array().into_iter().flatten().map(|parameter| resolved(document, parameter));
    let rows: String = shown
        .filter(|parameter| parameter["in"] != "path")
        .map(|parameter| {
            let place = text(&parameter["in"]);
            row(
                document,
                text(&parameter["name"]),
                &parameter["schema"],
                Some(text(&parameter["description"])),
                parameter["required"] == true,
                (place == "header").then_some("header"),
                DEEPEST,
            )
        })
        .collect();
    if rows.is_empty() {
        return rows;
    }
    format!("<h4>Parameters</h4><dl class=\"fields\">{rows}</dl>")
}

/// What a reference stands for.
pub(super) fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn fields(document: &Value, schema: &Value, depth: usize) -> String {
    let inner = innermost(document, schema);
    if let Some(choices) = inner["anyOf"].as_array().filter(|_| inner.get("properties").is_none()) {
        let named = choices.iter().map(|choice| fields(document, choice, depth));
        return named.filter(|fields| !fields.is_empty()).collect::<Vec<_>>().join("<p class=\"or\">or</p>");
    }
    let required = |name: &str| {
        inner["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let rows: String = entries(&inner["properties"])
        .map(|(name, field)| row(document, name, field, None, required(name), None, depth))
        .collect();
    if rows.is_empty() {
        return rows;
    }
    let list = if schema["type"] == "array" { "<p class=\"list\">A list of:</p>" } else { "" };
    format!("{list}<dl class=\"fields\">{rows}</dl>")
}

/// A field: its name, its kind, its words, and the fields inside it.
fn row(
    document: &Value,
    name: &str,
    field: &Value,
    words: Option<&str>,
    required: bool,
    place: Option<&str>,
    depth: usize,
) -> String {
    let shown = resolved(document, field);
    let words = words.unwrap_or_else(|| text(&shown["description"]));
    let needed = if required { "<span class=\"required\">required</span>" } else { "" };
    let place = place.map_or_else(String::new, |place| format!("<span class=\"kind\">{place}</span>"));
    let inside = if depth < DEEPEST { fields(document, field, depth + 1) } else { String::new() };
    let inside =
        if inside.is_empty() { inside } else { folded(&format!("Fields of <code>{name}</code>"), &inside) };
    format!(
        "<div><dt><code>{}</code> <span class=\"kind\">{}</span>{place}{needed}</dt><dd>{}{}{inside}</dd></div>",
        escape(name),
        escape(&kind(document, field)),
        tagged("p", &markdown::line(words)),
        bounds(document, shown),
    )
}

/// What kind of value it is, in a word or two.
fn kind(document: &Value, schema: &Value) -> String {
    let schema = resolved(document, schema);
    if let Some(choices) = schema["anyOf"].as_array().filter(|_| schema.get("type").is_none()) {
        let kinds: Vec<String> = choices
            .iter()
            .map(|choice| match choice["type"] == "null" {
                true => "null".to_owned(),
                false => kind(document, choice),
            })
            .collect();
        return kinds.join(" or ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let or_null = if names.contains(&"null") { " or null" } else { "" };
    let name = names.iter().find(|name| **name != "null").copied().unwrap_or("");
    match (name, text(&schema["format"])) {
        ("array", _) => format!("list of {}{or_null}", kind(document, &schema["items"])),
        ("string", "date-time") => format!("time{or_null}"),
        (name, _) => format!("{name}{or_null}"),
    }
}

/// Bounds, choices and the default, as small print.
fn bounds(document: &Value, schema: &Value) -> String {
    // Whole numbers without their fraction, whatever type they are bounds of.
    let of = |name: &str| schema.get(name).and_then(Value::as_f64).map(|bound| bound.to_string());
    let mut notes = Vec::new();
    for (least, most, what) in [
        ("minLength", "maxLength", " characters"),
        ("minimum", "maximum", ""),
        ("minItems", "maxItems", " items"),
    ] {
        match (of(least), of(most)) {
            (Some(least), Some(most)) => notes.push(format!("{least} to {most}{what}")),
            (Some(least), None) => notes.push(format!("at least {least}{what}")),
            (None, Some(most)) => notes.push(format!("at most {most}{what}")),
            (None, None) => {}
        }
    }
    let choices =
        schema["enum"].as_array().or_else(|| resolved(document, &schema["items"])["enum"].as_array());
    if let Some(names) = choices {
        let names: Vec<String> =
            names.iter().filter_map(Value::as_str).map(|name| tagged("code", &escape(name))).collect();
        notes.push(names.join(" "));
    }
    if let Some(default) = schema.get("default").map(ToString::to_string) {
        notes.push(format!("default {}", tagged("code", &escape(&default))));
    }
    match notes.is_empty() {
        true => String::new(),
        false => format!("<p class=\"bounds\">{}</p>", notes.join(" · ")),
    }
}

/// Through references and lists to what has fields.
fn innermost<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = resolved(document, schema);
    match schema.get("items") {
        Some(items) => innermost(document, items),
        None => schema,
    }
}
